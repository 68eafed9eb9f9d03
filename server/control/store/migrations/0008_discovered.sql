-- Objects that an agent found in its namespaces stand beside those of the service, with origin `generated` or `discovered`.
-- found: owner, live object and what the spec cannot express. agent_uid: the agent that found it; null for managed objects.
alter table objects add column origin text not null default 'managed';
alter table objects add column found jsonb;
alter table objects add column agent_uid text;
create index objects_found on objects (account, agent_uid) where origin <> 'managed';

-- What an agent sees, one narrow row an object, so that the marks of a full round are written without the account's lock and without
-- the objects. digest is of the whole report: an equal one writes no object. seen_session and seen_round are of the newest report.
create table sightings (
  account text not null,
  agent_uid text not null,
  collection text not null,
  namespace text not null,
  name text not null,
  uid text not null,
  live_uid text not null,
  digest text not null,
  argo_project text,
  tenant text,
  seen_session text not null,
  seen_round bigint not null,
  primary key (account, agent_uid, collection, namespace, name)
);
create unique index sightings_uid on sightings (account, uid);

-- How many objects of an agent are shown, and the newest full round of each collection. refused: reports beyond the bound in that round.
create table discoveries (
  account text not null,
  agent_uid text not null,
  objects integer not null default 0,
  -- Grows when a mapping changes, and is 0 when the scopes of the agent's objects have been looked at since.
  rescope integer not null default 0,
  primary key (account, agent_uid)
);
create table discovery_rounds (
  account text not null,
  agent_uid text not null,
  collection text not null,
  namespace text not null,
  session text not null,
  round bigint not null,
  taken bigint not null,
  refused bigint not null,
  primary key (account, agent_uid, collection, namespace)
);

-- An object that was taken over keeps the place of the live object, and the uid that Kubernetes gave it.
alter table deliveries add column namespace text;
alter table deliveries add column live_uid text;
-- One live object is delivered once.
create index deliveries_name on deliveries (account, agent_uid, collection, name);

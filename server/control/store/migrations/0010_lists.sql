-- What lists filter, sort and count by, and what summaries show, beside each object: reading them leaves spec and status alone. PostgreSQL keeps
-- them equal to the object itself, also where an older replica writes it. domain/lists/fields.ts has the same paths for objects in memory.
alter table objects
  add column f_agent text generated always as (spec->>'agent') stored,
  add column f_cluster text generated always as (coalesce(spec#>>'{destination,cluster}', found#>>'{live,destination,name}')) stored,
  add column f_namespace text generated always as (spec#>>'{destination,namespace}') stored,
  add column f_repository text generated always as (coalesce(spec#>>'{source,repository}', spec#>>'{source,repoUrl}', spec#>>'{sources,0,repository}', spec#>>'{sources,0,repoUrl}')) stored,
  add column f_sync text generated always as (status#>>'{sync,status}') stored,
  add column f_health text generated always as (status#>>'{health,status}') stored,
  add column f_revision text generated always as (status#>>'{sync,revision}') stored,
  add column f_owner text generated always as (found#>>'{owner,name}') stored,
  add column f_labels jsonb generated always as (
    (case when jsonb_typeof(found#>'{live,labels}') = 'object' then found#>'{live,labels}' else '{}' end)
    || (case when jsonb_typeof(spec->'labels') = 'object' then spec->'labels' else '{}' end)) stored;

-- Each has few values in most objects, so that an update that leaves them alone writes no index. A repository's address can be longer than an index takes.
create index objects_agent on objects (account, collection, f_agent) where f_agent is not null;
create index objects_cluster on objects (account, collection, f_cluster) where f_cluster is not null;
create index objects_sync on objects (account, collection, f_sync) where f_sync is not null;
create index objects_health on objects (account, collection, f_health) where f_health is not null;
create index objects_owner on objects (account, collection, f_owner) where f_owner is not null;

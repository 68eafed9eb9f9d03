-- Account is the first column of every table and index: it is the shard key. '' in org and project means "none", so that a scope
-- is always three columns with no NULL among them and primary keys stay plain.

-- The one clock of the service. A test that needs another time sets outpost.now for its transaction; nothing else ever does.
create function outpost_now() returns timestamptz language sql stable as
  $$ select coalesce(nullif(current_setting('outpost.now', true), '')::timestamptz, clock_timestamp()) $$;

-- version: the last event version given out. The row's lock is what makes events of an account strictly ordered.
-- trimmed: events up to and including this version are no longer kept.
create table accounts (
  account text primary key,
  version bigint not null default 0,
  trimmed bigint not null default 0,
  created_at timestamptz not null default outpost_now()
);

create table objects (
  account text not null,
  collection text not null,
  org text not null,
  project text not null,
  id text not null,
  uid text not null,
  generation bigint not null,
  version bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deletion_requested_at timestamptz,
  spec jsonb not null,
  status jsonb not null,
  primary key (account, collection, org, project, id)
);
create unique index objects_uid on objects (account, uid);

-- Who refers to whom; answers "in use?" and "who must hear that this changed?".
create table object_references (
  account text not null,
  from_uid text not null,
  pointer text not null,
  to_uid text not null,
  primary key (account, from_uid, pointer)
);
create index object_references_to on object_references (account, to_uid);

-- The watch log. object is null for a delete.
create table events (
  account text not null,
  version bigint not null,
  at timestamptz not null,
  collection text not null,
  org text not null,
  project text not null,
  id text not null,
  object jsonb,
  primary key (account, version)
);

-- What an agent should hold: one row an object, the newest state only. revision grows with every change that the agent must hear
-- of (spec, resolved references, credentials, actions); spec_revision is the revision that brought the newest spec.
create table deliveries (
  account text not null,
  agent_uid text not null,
  uid text not null,
  collection text not null,
  org text not null,
  project text not null,
  id text not null,
  name text not null,
  op text not null,
  cascade text,
  revision bigint not null,
  spec_revision bigint not null,
  acked_revision bigint not null default 0,
  sent_revision bigint not null default 0,
  sent_session text,
  sent_at timestamptz,
  -- The newest report taken in, so that one that was sent twice or overtaken does no harm.
  reported_session text,
  reported_revision bigint not null default 0,
  sealed jsonb,
  action jsonb,
  primary key (account, agent_uid, uid)
);
create index deliveries_due on deliveries (account, agent_uid) where acked_revision <> revision;
create unique index deliveries_uid on deliveries (account, uid);

create table workers (
  account text not null,
  worker text not null,
  kind text not null,
  object_uid text not null,
  org text not null,
  project text not null,
  id text not null,
  sign_key text not null,
  seal_key text not null,
  instance text not null,
  cluster_uid text,
  token_id text not null,
  version text not null default '',
  capabilities text[] not null default '{}',
  capacity integer not null default 0,
  draining boolean not null default false,
  connected boolean not null default false,
  epoch bigint not null default 0,
  enrolled_at timestamptz not null,
  last_seen_at timestamptz,
  primary key (account, worker)
);
create index workers_object on workers (account, object_uid);

-- hash is SHA-256 of the session's text; the text itself is never kept.
create table sessions (
  account text not null,
  hash text not null,
  worker text not null,
  instance text not null,
  epoch bigint not null,
  expires_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (account, hash)
);
create index sessions_worker on sessions (account, worker, instance);

-- Enrolment tokens: only their public keys.
create table tokens (
  account text not null,
  id text not null,
  object_uid text not null,
  public_key text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  uses integer not null default 0,
  max_uses integer not null,
  primary key (account, id)
);
create index tokens_object on tokens (account, object_uid);

create table api_keys (
  account text not null,
  org text not null,
  project text not null,
  id text not null,
  role text not null,
  hash text not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  primary key (account, org, project, id)
);
create unique index api_keys_hash on api_keys (account, hash);

create table tasks (
  account text not null,
  id text not null,
  org text not null,
  project text not null,
  kind text not null,
  params jsonb not null,
  selectors text[] not null default '{}',
  -- The agent that must run it; null for a task any fitting delegate may take.
  agent_uid text,
  timeout_seconds integer not null,
  max_attempts integer not null,
  idempotent boolean not null,
  state text not null,
  reason text,
  message text,
  outputs jsonb,
  fence bigint not null default 0,
  attempt integer not null default 0,
  lease_worker text,
  lease_instance text,
  -- The session that was handed the lease, and whether its worker has shown since that it got it; else it is handed out again.
  lease_session text,
  lease_confirmed boolean not null default false,
  lease_expires_at timestamptz,
  -- The worker whose result ended it: the same result once more is answered like the first.
  ended_by text,
  deadline_at timestamptz,
  cancel_requested_at timestamptz,
  -- After a lost lease: the instance that lost it, passed over until avoid_until if another can take the task.
  avoid_worker text,
  avoid_until timestamptz,
  -- Lines stored, the number of lines stored before this attempt, bytes stored, and the worker's last line when it ended.
  log_last bigint not null default 0,
  log_base bigint not null default 0,
  log_bytes bigint not null default 0,
  log_final bigint,
  created_at timestamptz not null,
  started_at timestamptz,
  ended_at timestamptz,
  primary key (account, id)
);
create index tasks_queue on tasks (account, created_at, id) where state = 'Queued';
create index tasks_leased on tasks (account, lease_worker) where state = 'Running';
create index tasks_expiry on tasks (account, lease_expires_at) where state = 'Running';
create index tasks_scope on tasks (account, org, project, created_at, id);

create table attempts (
  account text not null,
  task text not null,
  number integer not null,
  worker text not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  reason text,
  primary key (account, task, number)
);

create table task_logs (
  account text not null,
  task text not null,
  seq bigint not null,
  stream text not null,
  text text not null,
  at timestamptz not null,
  primary key (account, task, seq)
);

create table audit (
  account text not null,
  seq bigint generated always as identity,
  at timestamptz not null,
  actor text not null,
  address text,
  operation text not null,
  org text not null,
  project text not null,
  target text,
  outcome text not null,
  code text,
  request text,
  primary key (account, seq)
);

-- key is a hash of the client's key; answer is encrypted with the client's key, because an answer may show a token once.
create table idempotency (
  account text not null,
  key text not null,
  body_hash text not null,
  status integer not null default 0,
  answer bytea,
  created_at timestamptz not null,
  primary key (account, key)
);

-- Nonces that were used up; a signed request counts once.
create table nonces (
  account text not null,
  hash text not null,
  expires_at timestamptz not null,
  primary key (account, hash)
);

-- The service's own signing key. It is the service's identity, not a user's credential; store/README says how it is guarded.
create table service_keys (
  account text not null,
  id text not null,
  public_key text not null,
  private_key text not null,
  created_at timestamptz not null,
  primary key (account, id)
);

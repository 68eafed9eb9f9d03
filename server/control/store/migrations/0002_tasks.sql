-- Tasks with names, retries, artefacts and a queue that is read by shape.

-- shape: hash of scope, kind and selectors, made by tasks/shape.ts. Whoever can take one task of a shape can take them all, so the queue
-- is read shape by shape, and tasks that nobody can take stand in nobody's way. '' is a task that a replica of the version before has
-- queued; it gets its shape when the queue is looked at. queued_at: when it may be taken; in the future while a retry waits.
-- tries: the attempts that have ended, in the row itself, because an attempt of its own row would double what a task writes.
-- The clock as before, but with the time at which a statement came instead of the time now, which PostgreSQL can put into a plan: read three
-- times for each task, the function itself cost as much as writing the row.
create or replace function outpost_now() returns timestamptz language sql stable as
  $$ select coalesce(nullif(current_setting('outpost.now', true), '')::timestamptz, statement_timestamp()) $$;

alter table tasks
  add column name text,
  add column queue_timeout_seconds integer not null default 86400,
  add column retry_on text[] not null default '{}',
  add column retry_delay_seconds integer not null default 5,
  add column queued_at timestamptz not null default outpost_now(),
  add column requested_by text,
  add column retry_of text,
  add column run text,
  add column step text,
  add column shape text collate "C" not null default '',
  add column attempt_worker text,
  add column attempt_started_at timestamptz,
  add column tries jsonb not null default '[]';

update tasks t set queued_at = created_at,
  attempt_worker = (select a.worker from attempts a where a.account = t.account and a.task = t.id and a.number = t.attempt),
  attempt_started_at = (select a.started_at from attempts a where a.account = t.account and a.task = t.id and a.number = t.attempt),
  tries = coalesce((select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('number', a.number, 'worker', a.worker, 'startedAt', a.started_at, 'endedAt', a.ended_at, 'reason', a.reason)) order by a.number)
    from attempts a where a.account = t.account and a.task = t.id and a.ended_at is not null), '[]'::jsonb);

-- attempts stays for replicas of the version before, which write it; nothing reads it any more.

drop index tasks_queue;
create index tasks_queue on tasks (account, shape, queued_at, id) where state = 'Queued' and agent_uid is null;
create index tasks_asked on tasks (account, agent_uid, state) where agent_uid is not null;

-- Leases that ran out are found among those that run (tasks_leased). Without an index over lease_expires_at a renewal rewrites no index.
drop index tasks_expiry;
create index tasks_age on tasks using brin (account, created_at);
alter table tasks set (fillfactor = 80);

-- What a worker says of itself beside its capabilities.
alter table workers
  add column lacking jsonb not null default '[]',
  add column tags text[] not null default '{}',
  add column type text,
  add column headroom jsonb not null default '{}';

-- Files that tasks leave. An upload is written in pieces before its row here is; pieces without a row are forgotten after an hour.
create table task_artifacts (
  account text not null,
  task text not null,
  name text not null,
  upload text not null,
  size bigint not null,
  sha256 text not null,
  created_at timestamptz not null,
  primary key (account, task, name)
);

create table artifact_pieces (
  account text not null,
  upload text not null,
  n integer not null,
  at timestamptz not null,
  data bytea not null,
  primary key (account, upload, n)
);
alter table artifact_pieces alter column data set storage external;

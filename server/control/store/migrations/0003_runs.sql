-- Runs of pipelines. spec is the pipeline as it was when the run began: changing or deleting it changes no run. steps holds the state of
-- each step with its outputs, one row for the whole run: it is read and written as a whole, under the row's lock.
-- awaits: the tasks whose end lets the run go on; due_at: when it must be looked at though none has ended. Both are null or empty
-- once it has ended. They are asked for every second, so they stand beside the run instead of in another index of tasks, which
-- every task would have to pay for.
create table runs (
  account text not null,
  id text not null,
  org text not null,
  project text not null,
  pipeline text not null,
  pipeline_uid text not null,
  generation bigint not null,
  revision bigint not null default 1,
  state text not null,
  reason text,
  message text,
  inputs jsonb not null,
  steps jsonb not null,
  spec jsonb not null,
  awaits text[] not null default '{}',
  requested_by text not null,
  cancel_requested_at timestamptz,
  due_at timestamptz,
  created_at timestamptz not null,
  ended_at timestamptz,
  primary key (account, id)
);
create index runs_scope on runs (account, org, project, created_at, id);
create index runs_open on runs (account, due_at) where ended_at is null;

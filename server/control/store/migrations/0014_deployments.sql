-- Finished syncs of applications that have a service and an environment. They outlive the application and its own history. Made of what agents
-- report, once each: an application begins no two syncs at one time. service and environment are addresses as `keyOf` writes them.
create table deployments (
  account text not null references accounts (account),
  org text not null,
  project text not null,
  application text not null,
  started_at timestamptz not null,
  finished_at timestamptz not null,
  id text not null,
  service text not null,
  environment text not null,
  agent text,
  cluster text,
  namespace text,
  outcome text not null,
  cause text,
  initiated_by text,
  message text,
  revision text,
  revisions jsonb,
  images jsonb,
  history_id int,
  recorded_at timestamptz not null,
  primary key (account, org, project, application, started_at),
  unique (account, id)
);
create index deployments_time on deployments (account, started_at, id);
create index deployments_service on deployments (account, service, environment, started_at, id);
create index deployments_recorded on deployments (account, recorded_at);

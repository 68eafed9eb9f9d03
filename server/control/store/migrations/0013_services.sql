-- The service and the environment of an application or a set: of its specification, of our label, or of Harness' label. domain/lists/fields.ts
-- has the same paths. Images and the last deployment are what the matrix of services shows of an application without reading its status.
alter table objects
  add column f_service text generated always as (coalesce(spec->>'service',
    spec#>>'{labels,deploy.outpost.dev/service}', found#>>'{live,labels,deploy.outpost.dev/service}',
    spec#>>'{labels,harness.io/serviceRef}', found#>>'{live,labels,harness.io/serviceRef}')) stored,
  add column f_environment text generated always as (coalesce(spec->>'environment',
    spec#>>'{labels,deploy.outpost.dev/environment}', found#>>'{live,labels,deploy.outpost.dev/environment}',
    spec#>>'{labels,harness.io/envRef}', found#>>'{live,labels,harness.io/envRef}')) stored,
  add column f_images jsonb generated always as (status->'images') stored,
  add column f_deployed text generated always as (status#>>'{history,-1,deployedAt}') stored;

create index objects_service on objects (account, collection, f_service) where f_service is not null;
create index objects_environment on objects (account, collection, f_environment) where f_environment is not null;

-- How many Pods of an application are ready, as texts: what an agent reported is looked at where it is counted.
alter table objects
  add column f_ready text generated always as (status#>>'{instances,ready}') stored,
  add column f_total text generated always as (status#>>'{instances,total}') stored;

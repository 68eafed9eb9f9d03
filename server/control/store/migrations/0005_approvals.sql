-- approval: who has approved the run before a task's step began, so that delegates which ask for approvals take no other tasks. Null: nobody.
alter table tasks add column approval jsonb;

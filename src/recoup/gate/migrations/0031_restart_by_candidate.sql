-- A recovery candidate restarts an exhausted intake, by its consequence alone (recoup.lifecycle_step): by hand the
-- guard refuses, and says why.
grant insert (intake_id, batch_id, company_name, company_domain, linkedin_url, state, retry_of, created_at, updated_at)
  on cl.gate_zero_intake to recoup_executor;

-- name: import_intakes
-- Each column is one text, its values apart by a character that no value holds; nothing between two of them is null.
-- The driver takes a third of the time that arrays take it. Nobody asks for the ids of a hundred thousand rows.
with t as materialized (select recoup.now() as now_)
insert into cl.gate_zero_intake (intake_id, batch_id, company_name, company_domain, linkedin_url, state,
                                 created_at, updated_at)
select recoup.new_id(), %(batch_id)s, g.company_name, g.company_domain, g.linkedin_url, g.state, t.now_, t.now_
  from t, unnest(string_to_array(%(names)s, E'\x1f', ''), string_to_array(%(domains)s, E'\x1f', ''),
                 string_to_array(%(urls)s, E'\x1f', ''), string_to_array(%(states)s, E'\x1f', ''))
          as g (company_name, company_domain, linkedin_url, state);

-- name: hold_batch
-- Nobody completes it from here to the end of the transaction. Held for a moment only: a kill switch would wait for us.
select b.status from cl.gate_zero_batch b where b.batch_id = %(batch_id)s for no key update;

-- Companies by name and by domain, whole or by their first letters, in any case.

create index gate_zero_intake_name on cl.gate_zero_intake (lower(company_name) text_pattern_ops);
create index gate_zero_intake_domain on cl.gate_zero_intake (lower(company_domain) text_pattern_ops)
  where company_domain is not null;

-- Comments of the mint's tables, where they replace those of a migration, whose text never changes.

comment on column cl.company_identity.status is 'Always MINTED.';
comment on column cl.company_identity.intake_id is 'The authorised intake; after a re-entry the new one.';
comment on column cl.sovereign_mint_air.login is 'Login of the session; null in rows from before logins were stored.';

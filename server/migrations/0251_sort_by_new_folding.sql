-- rapport: no transaction
-- The indexes of folded texts, with the folding of 0250. Queries and cursors are then right for all records, also for
-- those that maintenance has not renewed. The unique indexes of names are left out: old names may be equal now.
reindex index concurrently contacts_name;
reindex index concurrently contacts_last_name;
reindex index concurrently contacts_email;
reindex index concurrently contacts_linkedin;
reindex index concurrently contacts_github;
reindex index concurrently contacts_twitter;
reindex index concurrently contacts_instagram;
reindex index concurrently contacts_facebook;
reindex index concurrently companies_name;
reindex index concurrently campaigns_name;
reindex index concurrently imports_name;
reindex index concurrently deals_name;

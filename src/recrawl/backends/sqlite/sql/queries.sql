-- Every statement of the store, by name. A block starts with "-- name:"; the comment under it says what it is for.

-- name: page_by_url
-- One page with all that is known of it; the first column is its number.
SELECT p.id, p.url, s.name, p.state, p.depth, p.found_at, p.weight, coalesce(i.number, 0), p.last_access,
       p.last_change, p.last_modified, p.etag, p.digest, p.accesses, p.changes, p.failures, p.retry_at, l.until,
       p.revision, p.title, p.announced, p.last_try, p.last_outcome, p.reason, p.duplicate_of, p.moved_to, p.belief
FROM pages AS p
JOIN sites AS s ON s.id = p.site
LEFT JOIN in_links AS i ON i.page = p.id
LEFT JOIN leases AS l ON l.page = p.id
WHERE p.url = :url;

-- name: pages_after
-- The next pages in the order of the table: short reads one after the other hold no lock and no old snapshot.
SELECT p.id, p.url, s.name, p.state, p.depth, p.found_at, p.weight, coalesce(i.number, 0), p.last_access,
       p.last_change, p.last_modified, p.etag, p.digest, p.accesses, p.changes, p.failures, p.retry_at, l.until,
       p.revision, p.title, p.announced, p.last_try, p.last_outcome, p.reason, p.duplicate_of, p.moved_to, p.belief
FROM pages AS p
JOIN sites AS s ON s.id = p.site
LEFT JOIN in_links AS i ON i.page = p.id
LEFT JOIN leases AS l ON l.page = p.id
WHERE p.id > :after
ORDER BY p.id
LIMIT :limit;

-- name: columns_after
-- The same walk with the columns of PageColumns only.
SELECT p.id, p.url, s.name, p.state, p.depth, p.found_at, p.weight, coalesce(i.number, 0), p.last_access,
       p.last_change, p.accesses, p.changes, p.failures, p.retry_at, l.until, p.announced, p.belief
FROM pages AS p
JOIN sites AS s ON s.id = p.site
LEFT JOIN in_links AS i ON i.page = p.id
LEFT JOIN leases AS l ON l.page = p.id
WHERE p.id > :after
ORDER BY p.id
LIMIT :limit;

-- name: known_urls
-- Which of these URLs (a JSON array) are known, with what a new mention may change.
SELECT p.url, p.id, p.weight, p.announced
FROM json_each(:urls) AS wanted
JOIN pages AS p ON p.url = wanted.value;

-- name: add_site
INSERT INTO sites (name) VALUES (:name) ON CONFLICT (name) DO NOTHING;

-- name: add_page
INSERT INTO pages (url, site, state, depth, found_at, weight, announced)
VALUES (:url, (SELECT id FROM sites WHERE name = :site), 'known', :depth, :found_at, :weight, :announced)
RETURNING id;

-- name: mention_page
-- A known page was found again.
UPDATE pages SET weight = :weight, announced = :announced WHERE id = :id;

-- name: update_page
-- Everything that a finding can change.
UPDATE pages
SET state = ?, last_access = ?, last_change = ?, last_modified = ?, etag = ?, digest = ?, accesses = ?, changes = ?,
    failures = ?, retry_at = ?, revision = ?, title = ?, last_try = ?, last_outcome = ?, reason = ?, duplicate_of = ?,
    moved_to = ?, belief = ?
WHERE id = ?;

-- name: same_content
SELECT url FROM pages WHERE state = 'known' AND digest IS NOT NULL AND digest = :digest ORDER BY id LIMIT 1;

-- name: lease
-- Unknown URLs are passed over.
INSERT INTO leases (page, until)
SELECT p.id, :until FROM json_each(:urls) AS wanted JOIN pages AS p ON p.url = wanted.value
WHERE true
ON CONFLICT (page) DO UPDATE SET until = excluded.until;

-- name: end_lease
DELETE FROM leases WHERE page = :page;

-- name: end_leases
-- The store is opened by its only engine: nobody has a page any more.
DELETE FROM leases;

-- name: links_of
SELECT targets FROM links WHERE page = :page;

-- name: set_links
INSERT INTO links (page, targets) VALUES (:page, :targets) ON CONFLICT (page) DO UPDATE SET targets = excluded.targets;

-- name: drop_links
DELETE FROM links WHERE page = :page;

-- name: count_link
INSERT INTO in_links (page, number) VALUES (?, ?) ON CONFLICT (page) DO UPDATE SET number = number + excluded.number;

-- name: set_text
INSERT INTO texts (page, packed, body, headings) VALUES (:page, :packed, :body, :headings)
ON CONFLICT (page) DO UPDATE SET packed = excluded.packed, body = excluded.body, headings = excluded.headings;

-- name: drop_text
DELETE FROM texts WHERE page = :page;

-- name: text_of
-- The stored text of a page, with its latest revision if it ever had one (a duplicate from the start has none).
SELECT coalesce(r.number, 0), coalesce(r.kind, 'removed'), p.url, s.name, coalesce(r.time, p.last_change), p.digest,
       p.title, t.packed, t.body, t.headings, NULL
FROM pages AS p
JOIN sites AS s ON s.id = p.site
JOIN texts AS t ON t.page = p.id
LEFT JOIN revisions AS r ON r.number = p.revision
WHERE p.url = :url;

-- name: last_revision
SELECT coalesce(max(number), 0) FROM revisions;

-- name: add_revision
INSERT INTO revisions (number, page, kind, time, digest) VALUES (:number, :page, :kind, :time, :digest);

-- name: replace_revision
UPDATE revisions SET replaced_by = :by WHERE number = :number;

-- name: forget_replaced
DELETE FROM revisions WHERE replaced_by IS NOT NULL AND replaced_by <= :limit;

-- name: revisions_after
-- The change feed up to the last revision that is known to be on disk. Only the latest entry of a page has a text.
SELECT r.number, r.kind, p.url, s.name, r.time, r.digest, p.title, t.packed, t.body, t.headings, r.replaced_by
FROM revisions AS r
JOIN pages AS p ON p.id = r.page
JOIN sites AS s ON s.id = p.site
LEFT JOIN texts AS t ON t.page = r.page AND r.replaced_by IS NULL AND r.kind <> 'removed'
WHERE r.number > :after AND r.number <= (SELECT coalesce(max(number), 0) FROM totals WHERE name = 'on disk')
ORDER BY r.number
LIMIT :limit;

-- name: set_total
INSERT INTO totals (name, number) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET number = excluded.number;

-- name: count
INSERT INTO totals (name, number) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET number = number + excluded.number;

-- name: totals
SELECT name, number FROM totals;

-- name: save
INSERT INTO saved (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: load
SELECT value FROM saved WHERE name = :name;

-- name: pages_by_url
-- Some pages (a JSON array of URLs), those that are known, with all that is known of them.
SELECT p.id, p.url, s.name, p.state, p.depth, p.found_at, p.weight, coalesce(i.number, 0), p.last_access,
       p.last_change, p.last_modified, p.etag, p.digest, p.accesses, p.changes, p.failures, p.retry_at, l.until,
       p.revision, p.title, p.announced, p.last_try, p.last_outcome, p.reason, p.duplicate_of, p.moved_to, p.belief
FROM json_each(:urls) AS wanted
JOIN pages AS p ON p.url = wanted.value
JOIN sites AS s ON s.id = p.site
LEFT JOIN in_links AS i ON i.page = p.id
LEFT JOIN leases AS l ON l.page = p.id;

-- name: log_access
-- Text || text would do for bytes too, but its substr counts characters; hence the cast.
INSERT INTO accesses (page, log) VALUES (:page, :entry)
ON CONFLICT (page) DO UPDATE SET log = substr(CAST(log || excluded.log AS BLOB), -:most);

-- name: accesses_of
SELECT a.log FROM pages AS p JOIN accesses AS a ON a.page = p.id WHERE p.url = :url;

-- name: history_row
SELECT count, means FROM history WHERE tier = :tier AND slot = :slot;

-- name: set_history
INSERT INTO history (tier, slot, count, means) VALUES (:tier, :slot, :count, :means)
ON CONFLICT (tier, slot) DO UPDATE SET count = excluded.count, means = excluded.means;

-- name: forget_history
DELETE FROM history WHERE tier = :tier AND slot < :slot;

-- name: newest_history
SELECT max(slot) FROM history WHERE tier = :tier;

-- name: history_between
SELECT slot, count, means FROM history WHERE tier = :tier AND slot BETWEEN :first AND :last ORDER BY slot;

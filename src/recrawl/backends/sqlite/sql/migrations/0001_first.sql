-- The first layout of a store.

-- Hosts; pages name them by number.
CREATE TABLE sites (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- One row for each page, without its text. Read in order of `id`, which is the order in which pages were found.
CREATE TABLE pages (
    id INTEGER PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    site INTEGER NOT NULL REFERENCES sites (id),
    state TEXT NOT NULL,          -- known, gone, excluded, duplicate
    depth INTEGER NOT NULL,
    found_at REAL NOT NULL,       -- all times are seconds since 1970
    weight REAL,
    last_access REAL,             -- end of the last access that brought news
    last_change REAL,             -- end of the access that first saw the present text
    last_modified REAL,           -- as the server says
    etag TEXT,
    digest BLOB,                  -- of the stored text; null while there is none
    accesses INTEGER NOT NULL DEFAULT 0,
    changes INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    retry_at REAL,
    revision INTEGER NOT NULL DEFAULT 0,
    title TEXT NOT NULL DEFAULT '',
    announced REAL,               -- a sitemap's lastmod
    last_try REAL,                -- end of the last access, whatever it brought
    last_outcome TEXT,
    reason TEXT NOT NULL DEFAULT '',
    duplicate_of TEXT,
    moved_to TEXT,
    belief BLOB NOT NULL DEFAULT x''
);

-- Which page has this text? Searchable pages only.
CREATE INDEX pages_by_digest ON pages (digest) WHERE state = 'known' AND digest IS NOT NULL;

-- Pages that are handed out. A table of its own stays small, so that handing out rewrites few disk pages.
CREATE TABLE leases (
    page INTEGER PRIMARY KEY REFERENCES pages (id),
    until REAL NOT NULL
);

-- How many pages link to a page. Narrow rows, because one new page changes the count of many others.
CREATE TABLE in_links (
    page INTEGER PRIMARY KEY REFERENCES pages (id),
    number INTEGER NOT NULL
);

-- The pages that a page links to: sorted page numbers, 8 bytes each (little endian), to tell new links from old.
CREATE TABLE links (
    page INTEGER PRIMARY KEY REFERENCES pages (id),
    targets BLOB NOT NULL
);

-- The newest text of each page that has one. `packed`: 0 plain, 1 zlib, 2 zstd; headings are a JSON array.
CREATE TABLE texts (
    page INTEGER PRIMARY KEY REFERENCES pages (id),
    packed INTEGER NOT NULL,
    body BLOB NOT NULL,
    headings TEXT NOT NULL
);

-- The change feed. `replaced_by` is the next revision of the same page; such an entry has lost its text.
CREATE TABLE revisions (
    number INTEGER PRIMARY KEY,
    page INTEGER NOT NULL REFERENCES pages (id),
    kind TEXT NOT NULL,           -- added, changed, removed
    time REAL NOT NULL,
    digest BLOB,
    replaced_by INTEGER
);

-- Replaced entries are forgotten after a while, oldest first.
CREATE INDEX revisions_replaced ON revisions (replaced_by) WHERE replaced_by IS NOT NULL;

-- Running totals, so that nobody has to count millions of rows: "state.known", "outcome.content", "changes", ...
CREATE TABLE totals (
    name TEXT PRIMARY KEY,
    number INTEGER NOT NULL
) WITHOUT ROWID;

-- Named values of the engine.
CREATE TABLE saved (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

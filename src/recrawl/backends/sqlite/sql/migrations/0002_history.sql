-- History: measures of the engine over time, and the latest accesses of each page.

-- One row for each stretch of time of each tier: the mean of `count` samples, as 4-byte floats (little endian).
CREATE TABLE history (
    tier INTEGER NOT NULL,
    slot INTEGER NOT NULL,        -- time / seconds of the tier, rounded down
    count INTEGER NOT NULL,
    means BLOB NOT NULL,
    PRIMARY KEY (tier, slot)
) WITHOUT ROWID;

-- The latest accesses of a page, 8 bytes each (little endian): milliseconds since 1970 * 256 + 128 if the page had
-- changed + the number of the outcome.
CREATE TABLE accesses (
    page INTEGER PRIMARY KEY REFERENCES pages (id),
    log BLOB NOT NULL
);

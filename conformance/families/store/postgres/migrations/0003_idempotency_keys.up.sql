-- Answers given under an Idempotency-Key (C-23). JSON, not JSONB: the answer
-- comes back as it was given.
CREATE TABLE idempotency_keys (
    scope       VARCHAR(30)  NOT NULL,
    key         VARCHAR(255) NOT NULL,
    fingerprint VARCHAR(64)  NOT NULL,
    answer      JSON         NOT NULL,
    created_at  TIMESTAMPTZ  NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX idx_keys_created ON idempotency_keys (created_at);

-- Answers given under an Idempotency-Key (C-23).
CREATE TABLE idempotency_keys (
    scope       VARCHAR(30)  NOT NULL,
    key         VARCHAR(255) NOT NULL,
    fingerprint VARCHAR(64)  NOT NULL,
    answer      TEXT         NOT NULL CHECK (json_valid(answer)),
    created_at  TEXT         NOT NULL,
    PRIMARY KEY (scope, key)
);
CREATE INDEX idx_keys_created ON idempotency_keys (created_at);

-- The inputs of each task as rows, for the two questions about them: which tasks
-- depend on an artifact, and which have no mandatory input (S0-TASKAPI-11, -12).
-- SQLite has no GIN index; taking the JSON of a project's queue apart for every
-- request costs more than the 200 ms it may take. inputs_json stays what a task
-- is made of: triggers derive the rows from it, and nothing else writes them.
CREATE TABLE task_inputs (
    task_number    INTEGER      NOT NULL REFERENCES tasks (task_number) ON DELETE CASCADE,
    classification TEXT         NOT NULL,
    position       INTEGER      NOT NULL,
    project_id     VARCHAR(100) NOT NULL,
    artifact_id    TEXT,
    PRIMARY KEY (task_number, classification, position)
) WITHOUT ROWID;
CREATE INDEX idx_input_artifact ON task_inputs (artifact_id, project_id, task_number);

-- By their full keys and not by their values: what is no object has no members,
-- where its value alone would be no JSON.
INSERT INTO task_inputs (task_number, classification, position, project_id, artifact_id)
SELECT t.task_number, coalesce(json_extract(t.inputs_json, i.fullkey || '.classification'), ''), i.id,
       t.project_id, json_extract(t.inputs_json, i.fullkey || '.artifact_id')
FROM tasks t, json_each(t.inputs_json) i;

CREATE TRIGGER task_inputs_of_new AFTER INSERT ON tasks BEGIN
    INSERT INTO task_inputs (task_number, classification, position, project_id, artifact_id)
    SELECT new.task_number, coalesce(json_extract(new.inputs_json, i.fullkey || '.classification'), ''), i.id,
           new.project_id, json_extract(new.inputs_json, i.fullkey || '.artifact_id')
    FROM json_each(new.inputs_json) i;
END;
CREATE TRIGGER task_inputs_of_changed AFTER UPDATE OF task_number, project_id, inputs_json ON tasks BEGIN
    DELETE FROM task_inputs WHERE task_number IN (old.task_number, new.task_number);
    INSERT INTO task_inputs (task_number, classification, position, project_id, artifact_id)
    SELECT new.task_number, coalesce(json_extract(new.inputs_json, i.fullkey || '.classification'), ''), i.id,
           new.project_id, json_extract(new.inputs_json, i.fullkey || '.artifact_id')
    FROM json_each(new.inputs_json) i;
END;

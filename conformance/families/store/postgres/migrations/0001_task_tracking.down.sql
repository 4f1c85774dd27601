DROP TABLE task_sequence;
DROP TABLE tasks;

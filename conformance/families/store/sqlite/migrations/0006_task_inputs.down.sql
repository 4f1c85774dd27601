DROP TRIGGER task_inputs_of_changed;
DROP TRIGGER task_inputs_of_new;
DROP TABLE task_inputs;

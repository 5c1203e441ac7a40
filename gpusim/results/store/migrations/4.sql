CREATE VIEW run_metrics AS
SELECT
    subjects.run AS run,
    subjects.variant AS variant,
    metric_names.name AS name,
    metric_values.value AS value,
    metric_names.unit AS unit,
    metric_values.half_width AS half_width
FROM metric_names
JOIN metric_values ON metric_values.metric = metric_names.id
JOIN subjects ON subjects.id = metric_values.subject
WHERE subjects.layer IS NULL AND subjects.launch IS NULL;

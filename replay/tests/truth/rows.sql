CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT, c REAL);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO t SELECT i, 'row ' || i || hex(i * 7919 % 65536), i * 0.5 FROM n;
CREATE INDEX tb ON t(b);
UPDATE t SET b = b || ' changed' WHERE a % 3 = 0;
DELETE FROM t WHERE a % 5 = 0;
SELECT count(*), group_concat(x, '') IS NULL FROM (SELECT substr(b, 1, 6) AS x, count(*) FROM t GROUP BY x ORDER BY x);

/* A list of event types of our own, in the macros of the MPS. */
#define EVENT_VERSION_MAJOR  ((unsigned)1)
#define EVENT_VERSION_MEDIAN ((unsigned)6)
#define EVENT_VERSION_MINOR  ((unsigned)1)

#define EVENT_LIST(EVENT, X) \
  EVENT(X, EventInit , 0x001d, TRUE, Arena) \
  EVENT(X, Intern    , 0x0021, TRUE, User) \
  EVENT(X, PoolAlloc , 0x002a, TRUE, Object)

#define EVENT_EventInit_PARAMS(PARAM, X) \
  PARAM(X, 0, U, major, "EVENT_VERSION_MAJOR") \
  PARAM(X, 1, U, median, "EVENT_VERSION_MEDIAN") \
  PARAM(X, 2, U, minor, "EVENT_VERSION_MINOR") \
  PARAM(X, 3, U, maxCode, "the highest code") \
  PARAM(X, 4, U, maxNameLen, "the longest name") \
  PARAM(X, 5, U, wordWidth, "bits of a word") \
  PARAM(X, 6, W, clocksPerSec, "ticks of the wall clock")

#define EVENT_Intern_PARAMS(PARAM, X) \
  PARAM(X, 0, W, stringId, "number of the string") \
  PARAM(X, 1, S, string, "the string")

#define EVENT_PoolAlloc_PARAMS(PARAM, X) \
  PARAM(X, 0, P, pool, "the pool") \
  PARAM(X, 1, A, pReturn, "what was allocated") \
  PARAM(X, 2, W, size, "its size")

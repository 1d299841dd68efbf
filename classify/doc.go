// Package classify says what a GPU kernel does from its name.
//
// [Parse] takes a name apart: function, namespaces, template arguments and
// parameter types, also for mangled names and for names a profiler cut short.
// A [Ruleset] is an ordered list of [Rule] values; the first that matches
// gives the [Category], and [Facts] name the rule that did.
// [Default] is the rule set of the triage report; [Ruleset.With] puts a user's
// rules before it, written in code or read with [LoadRules].
//
// Rules look at the function's name first, at template arguments where the
// function is generic, and never at parameter types: those show what a kernel
// is given, not what it does.
package classify

#!/usr/bin/env bash
# Compares TRACE with BASELINE, writes the report into the step summary, and comments on PULL_REQUEST: one comment, which later runs
# replace. The exit code is that of the comparison. STRATA is the program; FAIL_ON, ALLOW_INCONCLUSIVE and COMMENT are those of action.yml.
set -uo pipefail

report="${RUNNER_TEMP:-${TMPDIR:-/tmp}}/strata-compare.md"
marker="<!-- strata compare -->"
# A baseline that compare wrote has a flag of its own.
side=(--a "$BASELINE")
if [[ "$BASELINE" == *.json ]] && grep -q -m1 '"strata.baseline/' "$BASELINE" 2>/dev/null; then
  side=(--baseline "$BASELINE")
fi
args=(compare "${side[@]}" --b "$TRACE" --format markdown --progress=false)
[ -z "${FAIL_ON:-}" ] || args+=(--fail-on "$FAIL_ON")
[ "${ALLOW_INCONCLUSIVE:-false}" != true ] || args+=(--allow-inconclusive)

body=$("${STRATA:-strata}" "${args[@]}")
code=$?
case $code in
0 | 3 | 4) ;;
*) exit "$code" ;; # strata said why
esac
# GitHub refuses comments above 65536 characters.
printf '%s\n%.60000s\n' "$marker" "$body" >"$report"
[ -z "${GITHUB_STEP_SUMMARY:-}" ] || cat "$report" >>"$GITHUB_STEP_SUMMARY"
if [ -n "${GITHUB_OUTPUT:-}" ]; then
  printf 'report=%s\nexit-code=%s\n' "$report" "$code" >>"$GITHUB_OUTPUT"
fi
if [ "${COMMENT:-true}" = true ] && [ -n "${PULL_REQUEST:-}" ] && [ -n "${GITHUB_REPOSITORY:-}" ]; then
  comments="repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments"
  old=$(gh api --paginate "$comments" --jq ".[] | select(.body | startswith(\"$marker\")) | .id" 2>/dev/null | head -n 1)
  if [ -n "$old" ]; then
    gh api -X PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$old" -F "body=@$report" >/dev/null || echo "strata: the comment could not be changed" >&2
  else
    gh api "$comments" -F "body=@$report" >/dev/null || echo "strata: the comment could not be written" >&2
  fi
fi
exit "$code"

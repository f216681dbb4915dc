#!/usr/bin/env bash
# Plan and check a snapshot, and write the comment for a pull request: a table of groups that change, and findings.
# SNAPSHOT, SCENARIO, GATES and TOP are the inputs; GITHUB_OUTPUT and GITHUB_STEP_SUMMARY are the runner's files.
set -euo pipefail

folder="$(mktemp -d "${RUNNER_TEMP:-/tmp}/rmqalloc.XXXXXX")"
report="$folder/report.md"
most=60000 # bytes; GitHub takes 65,536 characters

rmqalloc() { # isolated from modules of the folder that it runs in
  python -I -m rmqalloc "$@"
}

indented() { # as a block of code, which no text in it can end
  sed 's/^/    /' "$1"
}

{
  echo "## rmqalloc"
  echo
} >"$report"

plan_code=""
if [ -n "${SCENARIO:-}" ]; then
  gate=(--fail-if-worse)
  if [ -n "${GATES:-}" ]; then gate=("--gates=$GATES"); fi
  plan_code=0
  rmqalloc plan --file="$SNAPSHOT" --scenario="$SCENARIO" "${gate[@]}" --show=groups --where='scenario!=current' \
    --columns=scenario,consumer_group,n_queues,n_clients,moved,idle,unowned,double_owned,max_load,skew \
    --top="${TOP:-30}" --output=md >"$folder/plan.md" 2>"$folder/plan.log" || plan_code=$?
  {
    case "$plan_code" in
      0) echo "**Plan:** every gate is kept." ;;
      3) echo "**Plan:** a gate is not kept." ;;
      *) echo "**Plan:** failed (exit code $plan_code)." ;;
    esac
    echo
    cat "$folder/plan.md"
    echo
    indented "$folder/plan.log"
    echo
  } >>"$report"
fi

check_code=0
rmqalloc check --file="$SNAPSHOT" --output=sarif >"$folder/rmqalloc.sarif" 2>"$folder/check.log" || check_code=$?
rmqalloc check --file="$SNAPSHOT" --output=md >"$folder/check.md" 2>/dev/null || true
{
  case "$check_code" in
    0) echo "**Check:** no warning and no error." ;;
    2) echo "**Check:** warnings or errors." ;;
    *) echo "**Check:** failed, or something is not known (exit code $check_code)." ;;
  esac
  echo
  cat "$folder/check.md"
  echo
  indented "$folder/check.log"
} >>"$report"

if [ "$(wc -c <"$report")" -gt "$most" ]; then
  # Cut at a line: half a row, or half a character, would be displayed wrongly.
  head -c "$most" "$report" | sed '$d' >"$report.cut"
  printf '\nThe rest is left out: more than %s bytes.\n' "$most" >>"$report.cut"
  mv "$report.cut" "$report"
fi
cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
{
  echo "report=$report"
  echo "sarif=$folder/rmqalloc.sarif"
  echo "plan-exit-code=$plan_code"
  echo "check-exit-code=$check_code"
} >>"${GITHUB_OUTPUT:-/dev/stdout}"

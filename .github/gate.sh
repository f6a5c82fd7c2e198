#!/usr/bin/env bash
# The step of action.yml: the gate with the options that are set. Its table goes to the job's summary, its verdict and its JSON to the
# outputs. Rows that cannot tell warn and fail nothing.
set -uo pipefail
arguments=("$FILE" --summary "$GITHUB_STEP_SUMMARY" --json)
for option in max-ece max-classwise-ece max-nll max-brier max-gap min-accuracy calibrator not-worse-than; do
    name=$(tr 'a-z-' 'A-Z_' <<<"$option")
    [ -z "${!name:-}" ] || arguments+=("--$option" "${!name}")
done
[ "${EACH_GROUP:-false}" != true ] || arguments+=(--each-group)
while IFS= read -r choice; do
    [ -z "$choice" ] || arguments+=(--read "$choice")
done <<<"${CHOICES:-}"

json=$RUNNER_TEMP/calib-gate.json
python -m calib gate "${arguments[@]}" | tee "$json"
status=${PIPESTATUS[0]}
case $status in
0) verdict=passes ;;
3) verdict=fails ;;
4) verdict=undecided ;;
*) verdict=error ;;
esac
printf 'verdict=%s\njson=%s\n' "$verdict" "$json" >>"$GITHUB_OUTPUT"
if [ "$status" = 4 ]; then
    echo "::warning title=calib::The rows are too few to decide; see the summary."
    exit 0
fi
exit "$status"

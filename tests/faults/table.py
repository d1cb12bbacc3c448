"""The table of faults: what can go wrong, which tests try it, and what came of them; writes results/faults.md.

    python tests/faults/table.py                  # runs the tests that the table names, but for the long tier
    python tests/faults/table.py --all            # with the long tier
    python tests/faults/table.py --part Solver    # those of one part; the others keep their results
    python tests/faults/table.py --missing        # those that the page has no result of
    python tests/faults/table.py --only TEST ..   # these
    python tests/faults/table.py --reports FILE .. # none: those of which pytest has written a report (--junitxml)

The long tier takes an hour and more; `pytest -m faults --junitxml=FILE` runs a part of it, and the reports of a test
add up: of a case that several of them have, the last one counts. What was not run keeps the result that the page has.

What tests of the long tier count (`record_property`) is kept in `results/faults/long.json`, with the day of the report,
and is on the page below the tables: a test that is run again takes the place of its older counts.

Then come the counts of the fuzzers and of the soak (`results/faults/fuzz.json`, `soak.json`) and those of the campaign
(`tests/faults/campaign.py`) as far as `results/faults/` has its rounds.

A fault without a test has its reason in the place of the tests. `tests/faults/test_table.py` looks that every test that
is named here exists, and that the page names them all.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from red_team import ATTACKS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "results" / "faults.md"
ROUNDS = ROOT / "results" / "faults"
COUNTS = ROUNDS / "long.json"
FUZZ, SOAK = ROUNDS / "fuzz.json", ROUNDS / "soak.json"
LONG, NONE = "in the long tier (`make faults`)", "none yet"
BUDGET, ODD, ENDS = "faults/test_budget_calls.py", "faults/test_odd_inputs.py", "faults/test_solver_ends.py"
ANSWERS, RUNS, STORAGE = "faults/test_solver_answers.py", "faults/test_solver_runs.py", "faults/test_storage.py"
LEDGER, NUMBERS, HOSTILE = "ledger/test_ledger.py", "faults/test_numbers.py", "faults/test_hostile.py"
CLUSTER, KILL, SIGNALS = "faults/test_cluster.py", "faults/test_kill.py", "faults/test_kill_signals.py"
HELD, SURROUNDINGS = "ledger/identity/test_held_data.py", "faults/test_surroundings.py"
PLACES, RECHECK, MANY = "ledger/identity/test_places.py", "oracle/test_recheck.py", "faults/test_many.py"
PRINT, STARTED = "ledger/identity/test_fingerprint.py", "faults/test_ray_start.py"

FAULTS = {
    "Found by an attack on commit e118d38": {
        "1 a solver that uses its buffer again": [
            "oracle/test_account.py::test_account_a_solver_may_use_its_buffer_again"
        ],
        "2 a parameter in an object, a dict, another module": [
            f"{HELD}::test_held_data_a_parameter_of_a_bound_object_counts",
            f"{HELD}::test_held_data_whatever_holds_it",
            f"{HELD}::test_held_data_of_the_module_and_of_other_modules_count",
            f"{HELD}::test_held_data_what_a_setter_assigns_counts_where_the_functions_do_not_call_it",
            f"{HELD}::test_held_data_of_the_class_count",
            f"{HELD}::test_held_data_a_name_of_the_module_that_an_attribute_has_too_does_not_count",
            f"{HELD}::test_held_data_a_finished_run_does_not_come_back_for_another_limit",
            f"{PRINT}::test_fingerprint_a_file_that_is_edited_while_the_program_runs_is_another_problem_only_for_who_reads_it",
            "oracle/test_recheck.py::test_recheck_a_solver_that_has_changed_unseen_is_noticed_before_anything_is_reused",
        ],
        "3 a solver that forks and returns twice": [
            "execution/test_processes.py::test_processes_a_forked_child_that_returns_too_gives_no_answer",
            "execution/test_processes.py::test_processes_an_answer_without_the_number_of_the_row_in_work_is_no_answer",
            "execution/test_serial.py::test_serial_a_forked_child_that_returns_too_is_no_second_trainer",
        ],
        "4 one content in two shapes": [
            "oracle/test_account.py::test_account_decisions_of_one_content_in_two_shapes_or_dtypes_have_their_own_costs"
        ],
        "5 masked arrays, dates, durations": [
            f"{ODD}::test_odd_inputs_masked_entries_dates_and_durations_are_no_numbers",
            f"{ODD}::test_odd_inputs_masked_decisions_and_costs_are_refused",
        ],
        "6 a write-ahead log that was lost": [
            f"{ODD}::test_odd_inputs_a_log_that_was_lost_is_noticed_and_what_it_paid_for_stays_spent",
            f"{ODD}::test_odd_inputs_a_lost_log_is_noticed_where_there_is_no_checkpoint_and_the_budget_holds",
            f"{ODD}::test_odd_inputs_a_result_ahead_of_its_ledger_is_said",
        ],
        "7 budgets over crashes, time limits, kills, resumes (the five hundred schedules are 50 parts)": [
            f"{BUDGET}::test_budget_calls_the_users_function_never_sees_more_calls_than_the_budget_allows",
            f"{BUDGET}::test_budget_calls_five_hundred_schedules",
            f"{BUDGET}::test_budget_calls_what_is_under_way_at_a_kill_is_spent",
            f"{BUDGET}::test_budget_calls_a_batch_that_raises_counts_each_of_its_rows_and_is_tried_row_by_row",
        ],
        "8 what is under way at Ctrl-C, SIGTERM, spent seconds": [
            "oracle/test_account.py::test_account_what_is_under_way_when_a_run_is_stopped_is_waited_for_and_recorded",
            "oracle/test_account.py::test_account_what_does_not_land_within_the_grace_is_given_up_and_stays_charged",
        ],
        "9 a factory that fails once": [f"{ODD}::test_odd_inputs_a_factory_that_fails_once_is_called_again"],
        "10 a lock held by a child of a dead trainer": [
            f"{ODD}::test_odd_inputs_a_forked_child_of_a_dead_trainer_holds_no_lock"
        ],
        "11 absurd numbers in a ledger": [
            f"{ODD}::test_odd_inputs_absurd_numbers_in_a_ledger_hang_no_command",
            f"{ODD}::test_odd_inputs_a_run_or_start_with_the_largest_number_is_an_error_of_ours",
        ],
        "12 decisions over 64 MB, damaged pages, odd history": [
            f"{ODD}::test_odd_inputs_a_decision_that_could_not_be_read_back_is_refused_everywhere",
            f"{ODD}::test_odd_inputs_damaged_pages_are_reported_in_a_sentence",
            f"{LEDGER}::test_ledger_a_damaged_page_at_the_first_write_of_a_start_raises_one_sentence",
            f"{ODD}::test_odd_inputs_history_that_makes_no_sense_is_reported",
            "commands/test_ledger.py::test_command_ledger_wrong_history_is_named",
        ],
        "13 tracebacks and escapes": [
            f"{ODD}::test_odd_inputs_odd_values_in_a_ledger_are_shown_as_text",
            f"{ODD}::test_odd_inputs_what_a_solver_says_is_plain_text_in_the_error",
            f"{ODD}::test_odd_inputs_an_archive_that_is_none_is_reported",
            f"{ODD}::test_odd_inputs_a_folder_that_cannot_be_used_beside_a_shared_ledger_is_reported",
            f"{ODD}::test_odd_inputs_a_path_in_the_search_path_travels_to_workers",
            f"{ODD}::test_odd_inputs_a_solver_that_changes_the_working_directory",
            f"{ODD}::test_odd_inputs_numbers_of_numpy_are_numbers",
            f"{ODD}::test_odd_inputs_too_few_file_handles_are_reported",
        ],
    },
    "Found by a red team: attacks on commit 5e10b34": ATTACKS,
    "What other systems test": {
        "many processes on one folder": [
            f"{MANY}::test_many_processes_share_one_folder_of_remembered_answers",
            f"{MANY}::test_many_processes_have_one_ledger_one_after_the_other",
        ],
        "the log cut after every frame, and within each": [
            f"{MANY}::test_many_prefixes_of_the_log_each_open_with_the_answers_of_whole_commits"
        ],
        "65 memory limits; no thread": [
            f"{MANY}::test_many_memory_limits_lose_nothing_that_was_acknowledged",
            "ledger/sqlite/test_writer.py::test_writer_without_a_thread_is_an_error_of_ours",
            "ledger/sqlite/test_writer.py::test_writer_that_runs_out_of_memory_keeps_no_barrier_waiting",
        ],
        "release 0.1.0, an older schema and the same schema take turns with this version on one ledger": [
            f"{MANY}::test_many_versions_take_turns_on_one_ledger_and_lose_nothing"
        ],
        "a container: 64 MB of shared memory, process numbers of its own": [
            "faults/test_containers.py::test_containers_workers_need_neither_shared_memory_nor_the_process_numbers_of_the_host"
        ],
        "a PID namespace with the /proc of the host": [
            "faults/test_containers.py::test_containers_a_solver_that_hangs_is_ended_also_where_proc_has_the_processes_of_the_host"
        ],
        "fuzzing: each target on its corpus and on mutations of it": [
            "faults/test_fuzz.py::test_fuzz_targets_raise_nothing_but_errors_of_ours"
        ],
    },
    "Trainer and storage": {
        "A1 kill -9 of the trainer": [
            f"{KILL}::test_kill_a_few_kills",
            f"{KILL}::test_kill_a_hundred_kills",
            "faults/test_campaign.py::test_campaign_kills_with_workers_and_in_the_asynchronous_mode",
            "methods/staged/test_method.py::test_method_gives_the_same_bits_again",
        ],
        "A2 a kill at each write and sync": [
            f"{STORAGE}::test_storage_a_kill_at_a_sync_loses_nothing",
            f"{STORAGE}::test_storage_a_kill_or_an_error_at_each_write_or_sync",
        ],
        "A3 kills soon after a resume": [f"{KILL}::test_kill_a_few_kills_without_checkpoints"],
        "A4 power loss": ["faults/test_power.py::test_power_what_was_acknowledged_survives_any_loss_of_what_was_not"],
        "A5 disk full": [f"{STORAGE}::test_storage_a_full_disk_stops_the_run_and_what_was_used_is_there"],
        "A6 a sync that fails": [f"{STORAGE}::test_storage_errors_of_the_disk_end_the_run_and_lose_nothing"],
        "A7 no permission, a file in the way": [
            f"{STORAGE}::test_storage_a_folder_that_cannot_be_written_fails_before_the_first_solve"
        ],
        "A8 torn tail, flipped bits, zeroed pages": [
            f"{STORAGE}::test_storage_flipped_bits_are_never_taken_for_an_answer",
            f"{STORAGE}::test_storage_a_zeroed_page_costs_its_rows",
            f"{STORAGE}::test_storage_a_torn_log_loses_at_most_its_last_commits",
            "faults/test_campaign.py::test_campaign_some_mutations_of_every_file_of_a_run",
            "ledger/test_candidates.py::test_candidates_rows_that_do_not_belong_together_are_no_evaluation",
            "ledger/test_candidates.py::test_candidates_an_index_that_points_elsewhere_costs_calls_and_gives_no_wrong_answer",
            "ledger/test_candidates.py::test_candidates_are_looked_up_by_their_own_name",
            "ledger/sqlite/test_file.py::test_file_where_no_row_can_be_reached_few_are_tried",
            "ledger/sqlite/test_description.py::test_description_damage_is_reported_and_only_adopt_goes_on",
        ],
        "A9 two processes, one folder": [
            f"{LEDGER}::test_ledger_a_second_process_is_refused_with_the_name_of_the_first",
            f"{LEDGER}::test_ledger_the_lock_of_a_dead_process_is_taken_over",
            "ledger/test_folder_lock.py::test_folder_lock_of_a_process_that_has_not_written_its_name_yet_is_refused_with_it",
        ],
        "A10 two runs, one ledger": [
            f"{LEDGER}::test_ledger_another_run_takes_the_same_points_by_content",
            "fitting/test_folder.py::test_folder_in_use_is_refused_and_free_again_after_an_error",
        ],
        "A11 the ledger of another problem": [
            f"{HELD}::test_held_data_a_ledger_is_refused_with_what_changed_and_adopted_on_demand"
        ],
        "A12 other kernels, another machine": [
            f"{LEDGER}::test_ledger_position_forgives_last_bits_and_content_does_not",
            f"{KILL}::test_kill_a_resume_with_other_kernels_pays_for_nothing_twice",
        ],
        "A13 an older format": [
            "ledger/sqlite/test_migrate.py::test_migrate_nothing_is_lost_and_only_keys_change",
            "ledger/sqlite/test_migrate.py::test_migrate_commands_that_only_read_leave_an_old_ledger_as_it_is",
        ],
        "A14 a damaged checkpoint; a changed one with a right digest": [
            f"{HOSTILE}::test_hostile_a_checkpoint_with_a_false_header_is_refused",
            f"{ODD}::test_odd_inputs_odd_values_under_right_digests_are_refused_or_do_no_harm",
        ],
        "A15 a clock that jumps": [
            f"{SURROUNDINGS}::test_surroundings_a_clock_that_jumps_ends_no_solve_and_starts_none_late",
            f"{SURROUNDINGS}::test_surroundings_a_clock_that_steps_changes_neither_a_run_nor_what_is_shown_of_it",
        ],
        "A16 Ctrl-C, SIGTERM, SIGHUP": [
            f"{SIGNALS}::test_kill_signals_after_one_it_stops_after_the_solve_and_keeps_its_best",
            f"{SIGNALS}::test_kill_signals_after_two_it_stops_at_once",
        ],
        "A17 too few file handles": [f"{ODD}::test_odd_inputs_too_few_file_handles_are_reported"],
        "A18 network file systems": [
            f"{SURROUNDINGS}::test_surroundings_a_network_file_system_is_refused",
            f"{SURROUNDINGS}::test_surroundings_a_file_system_without_locks_is_reported",
        ],
    },
    "Solver": {
        "B1 hangs, in eight ways; each of them fifty times; with a guard that hangs, too": [
            f"{ENDS}::test_solver_ends_b1_a_solver_that_hangs_is_ended_with_all_that_it_started",
            f"{ENDS}::test_solver_ends_b1_fifty_times",
            f"{ENDS}::test_solver_ends_b1_a_guard_that_does_not_answer_is_done_without",
        ],
        "B2 crashes": [
            f"{ENDS}::test_solver_ends_b2_one_crash_among_twenty_keeps_nineteen",
            f"{ENDS}::test_solver_ends_b2_a_batch_that_crashes_is_run_row_by_row",
        ],
        "B3 out of memory": [f"{ANSWERS}::test_solver_answers_b3_memory_runs_out_for_one_solve_only"],
        "B4 leaks": [f"{ANSWERS}::test_solver_answers_b4_a_worker_that_leaks_makes_way_for_a_fresh_one"],
        "B5 rubbish for an answer": [
            f"{ANSWERS}::test_solver_answers_b5_no_decision",
            f"{ANSWERS}::test_solver_answers_b5_no_cost",
        ],
        "B6 infeasible": [f"{ANSWERS}::test_solver_answers_b6_infeasible_is_an_error_with_its_words"],
        "B7 a label that fails": [f"{RUNS}::test_solver_runs_b7_an_example_without_a_label_is_left_out_and_listed"],
        "B8 noise, closed files": [
            f"{ANSWERS}::test_solver_answers_b8_noise_and_closed_files_do_not_reach_the_answers"
        ],
        "B9 changes its input": [f"{ANSWERS}::test_solver_answers_b9_a_solver_may_change_its_input"],
        "B10 not deterministic": ["oracle/test_view.py::test_view_the_probe_finds_a_solver_that_does_not_repeat"],
        "B11 exceptions that cannot travel, 1 GB": [
            f"{ANSWERS}::test_solver_answers_b11_exceptions_that_cannot_travel_keep_their_text",
            f"{ANSWERS}::test_solver_answers_b11_a_decision_that_is_too_large_is_refused",
        ],
        "B12 a busy licence": [f"{ODD}::test_odd_inputs_a_factory_that_fails_once_is_called_again"],
        "B13 an input that kills the trainer each time: each start pays for it once more, and the budget ends it": [
            f"{BUDGET}::test_budget_calls_an_input_that_kills_the_trainer_each_time_costs_no_more_than_the_budget"
        ],
        "B14 workers of a dead trainer": [f"{ENDS}::test_solver_ends_b14_no_worker_outlives_a_killed_trainer"],
        "B15 fork after threads": [f"{ENDS}::test_solver_ends_b15_threads_of_the_trainer_do_no_harm"],
        "B16 always fails": [f"{RUNS}::test_solver_runs_b16_a_solver_that_always_fails_costs_at_most_ten_calls"],
    },
    "Cluster": {
        "C1, C5 a killed Ray worker, retries": [
            f"{CLUSTER}::test_cluster_c1_c5_killed_and_crashed_workers_cost_their_own_row_once_more_and_nothing_that_landed",
            f"{CLUSTER}::test_cluster_c1_fifty_killed_workers_lose_nothing_that_landed",
        ],
        "C2 a killed node; nine of them": [f"{CLUSTER}::test_cluster_c2_killed_nodes_lose_nothing_that_landed"],
        "C3 a killed driver": [
            f"{CLUSTER}::test_cluster_c3_a_killed_driver_leaves_no_solver_and_goes_on_from_its_ledger"
        ],
        "C4 a late answer": [
            "execution/test_dispatch.py::test_dispatch_an_answer_with_another_number_or_from_another_worker_is_not_taken"
        ],
        "C6 another solver version on a node: not seen, but for what `version=` names and a second look finds": [
            f"{HELD}::test_held_data_a_version_stands_for_what_cannot_be_seen_and_for_data_that_do_not_matter",
            "oracle/test_recheck.py::test_recheck_a_solver_that_has_changed_unseen_is_noticed_before_anything_is_reused",
        ],
        "C7 a cut network: a node that falls silent": [
            f"{CLUSTER}::test_cluster_c7_a_node_that_falls_silent_is_given_up_and_its_row_solved_elsewhere"
        ],
        "a cluster of `ray start`, by its address and token; code that travels by a runtime environment": [
            f"{STARTED}::test_ray_start_a_cluster_of_ray_start_solves_with_its_token_and_with_code_that_travels",
            f"{STARTED}::test_ray_start_who_has_another_token_is_not_let_in",
        ],
        "the job for SLURM, with a stand-in for `srun`": [
            "test_cluster_pages.py::test_cluster_pages_the_job_for_slurm_starts_ray_with_a_token_and_hands_its_address_to_the_script",
            f"{STARTED}::test_ray_start_the_job_for_slurm_trains_on_the_cluster_that_it_starts",
        ],
        "the job for Kubernetes, with a stand-in for `kubectl`": [
            "test_cluster_pages.py::test_cluster_pages_the_manifest_for_kubernetes_is_one_and_its_entry_point_joins_the_cluster_of_the_job",
            f"{STARTED}::test_ray_start_the_job_for_kubernetes_trains_on_the_cluster_that_the_operator_names",
        ],
    },
    "Surroundings": {
        "no rights, and no HOME or one that cannot be written": [
            f"{SURROUNDINGS}::test_surroundings_without_rights_and_without_a_home_machine_code_is_compiled_again_with_a_warning"
        ],
        "a TMPDIR that cannot be used; one that is full": [
            f"{SURROUNDINGS}::test_surroundings_a_folder_for_temporary_files_that_cannot_be_used_is_not_needed",
            f"{SURROUNDINGS}::test_surroundings_a_full_folder_for_temporary_files_is_needed_only_to_read_an_older_ledger",
        ],
        "a notebook": [f"{SURROUNDINGS}::test_surroundings_a_notebook_runs_in_a_thread_that_hears_no_signals"],
    },
    "Numbers": {
        "D1 NaN, order, types": [
            f"{NUMBERS}::test_numbers_a_bad_number_is_named_before_anything_is_paid",
            f"{NUMBERS}::test_numbers_only_the_numbers_count_not_how_they_are_stored",
        ],
        "D2 flat regret": [f"{NUMBERS}::test_numbers_a_flat_regret_is_reported_and_the_start_is_kept"],
        "D3 duplicates": [f"{NUMBERS}::test_numbers_duplicate_points_of_a_process"],
        "D4 scales": [f"{NUMBERS}::test_numbers_training_does_not_depend_on_the_units"],
        "D5 tiny tables": [f"{NUMBERS}::test_numbers_small_and_lopsided_tables"],
        "D6 importance weights": [f"{NUMBERS}::test_numbers_importance_weights_neither_underflow_nor_overflow"],
        "D7 a step that is NaN": [f"{NUMBERS}::test_numbers_the_second_bad_step_ends_training_with_the_best_weights"],
        "D8 ties": [f"{NUMBERS}::test_numbers_of_equal_readings_the_earliest_is_kept"],
    },
    "Hostile files": {
        "E1 pickles": [f"{HOSTILE}::test_hostile_a_pickle_is_refused_and_runs_no_code"],
        "E2 headers that lie": [f"{HOSTILE}::test_hostile_a_header_that_lies_is_refused"],
        "E3 sizes that lie": [f"{HOSTILE}::test_hostile_a_row_that_lies_about_its_size_is_no_answer"],
        "E4 escapes and scripts in text": [
            f"{HOSTILE}::test_hostile_an_error_of_the_solver_is_plain_text_on_the_command_line"
        ],
        "E5 names that are paths": [f"{HOSTILE}::test_hostile_a_name_is_looked_up_and_never_a_path"],
        "E6 archives that write elsewhere": ["faults/test_banned.py::test_banned_no_archive_is_ever_unpacked"],
        "E7 formulas in tables": [f"{HOSTILE}::test_hostile_text_that_looks_like_a_formula_is_not_one_in_a_table"],
        "E8 code in files": ["faults/test_banned.py::test_banned_no_module_can_run_code_from_a_file_or_a_string"],
    },
}

# tiers that are cases of tests: the test, and how many cases it has with them
LONG_CASES = {
    "each method ten times under load": (
        "faults/test_determinism.py::test_determinism_ten_runs_under_load_have_the_same_bits",
        20,
    ),
    "two versions in turn on one ledger": (f"{MANY}::test_many_versions_take_turns_on_one_ledger_and_lose_nothing", 6),
    "little memory": (f"{MANY}::test_many_memory_limits_lose_nothing_that_was_acknowledged", 65),
    "twenty processes on one folder of remembered answers": (
        f"{MANY}::test_many_processes_share_one_folder_of_remembered_answers",
        2,
    ),
    "twenty processes on one ledger": (f"{MANY}::test_many_processes_have_one_ledger_one_after_the_other", 2),
}


def tests(part=None):
    """All tests that are named, or those of one part, each once."""
    parts = FAULTS.values() if part is None else [FAULTS[part]]
    named = (one for faults in parts for tests in faults.values() if not isinstance(tests, str) for one in tests)
    return list(dict.fromkeys(named))


def run(named, every):
    """Test -> what came of it: how many of its cases passed, were skipped, failed."""
    if not named:
        return {}
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.xml"
        tier = ["-m", "faults or not faults"] if every else []
        command = [sys.executable, "-m", "pytest", "-n", "0", *tier, f"--junitxml={report}"]
        subprocess.run([*command, *(f"tests/{one}" for one in named)], cwd=ROOT, check=False)
        keep_counts([report])
        return reported([report])


def cases(reports):
    """Of the tests of the table, as far as these reports have them: test, day, case; what was run again as it ended."""
    named, last = set(tests()), {}
    suites = [one for report in reports for one in ElementTree.parse(report).getroot().iter("testsuite")]
    for suite in sorted(suites, key=lambda suite: suite.get("timestamp", "")):
        for case in suite.iter("testcase"):
            file = case.get("classname", "").removeprefix("tests.").replace(".", "/") + ".py"
            name = f"{file}::{case.get('name', '').partition('[')[0]}"
            if name in named:
                last[file, case.get("name")] = name, suite.get("timestamp", "")[:10], case
    return list(last.values())


def reported(reports):
    """Test -> what came of it, as these reports tell."""
    found = {}
    for name, _, case in cases(reports):
        kinds = {child.tag for child in case}
        what = "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"
        found.setdefault(name, dict.fromkeys(("passed", "skipped", "failed"), 0))[what] += 1
    return {one: in_words(counts) for one, counts in found.items()}


def keep_counts(reports):
    """What tests have counted, added up over their cases, in place of what they counted before."""
    found = {}
    for name, day, case in cases(reports):
        for one in case.iter("property"):
            counts = found.setdefault(name, {"day": day, "counts": Counter()})
            counts["day"] = max(day, counts["day"])
            counts["counts"][one.get("name")] += int(one.get("value", "0"))
    if found:
        COUNTS.write_text(json.dumps(kept_counts() | found, indent=1, sort_keys=True) + "\n")


def kept_counts():
    return json.loads(COUNTS.read_text()) if COUNTS.exists() else {}


class Tried(NamedTuple):
    """What came of a test, and at which commit."""

    result: str
    commit: str = ""


def known():
    """Test -> what the page says of it."""
    lines = PAGE.read_text().splitlines() if PAGE.exists() else []
    cells = ([cell.strip() for cell in line.split("|")] for line in lines if line.count("|") in (4, 5))
    return {row[2].strip("`"): Tried(row[3], row[4]) for row in cells if "::" in row[2]}


def commit():
    """The one that is checked out, with "+" where tests or source have changes on top."""
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "src", "tests"], cwd=ROOT, check=False)
    return head.stdout.strip() + "+" * bool(changed.returncode)


def in_words(counts):
    return ", ".join(f"{number} {what}" for what, number in counts.items() if number)


def page(found):
    lines = [
        "# Faults: what is tried, by which test, with which result",
        "",
        "Made by `python tests/faults/table.py`, which runs the tests that it names (`--all`: also the long tier).",
        "The letters are those of the fault scenarios that the tests were planned by; `make faults` is the long tier,",
        "with thousands of kills and mutated files ([ledger](../docs/ledger.md#what-is-promised)). The last column is",
        "the commit that was tried, where it is on record.",
    ]
    for part, faults in FAULTS.items():
        lines += ["", f"## {part}", "", "| fault | test in [tests](../tests) | result | commit |", "|---|---|---|---|"]
        if faults is ATTACKS:
            lines[-2:-2] = [summed(found, tests(part)), ""]
        for fault, named in faults.items():
            if isinstance(named, str):
                lines.append(f"| {fault} | {named} | | |")
            for k, one in enumerate([] if isinstance(named, str) else named):
                tried = found.get(one, Tried("not run yet"))
                lines.append(f"| {fault if k == 0 else ''} | `{one}` | {tried.result} | {tried.commit} |")
    return "\n".join([*lines, *long_tiers(found), *counted_by_tests(), *fuzzed(), *soaked(), *counted()]) + "\n"


def summed(found, named):
    """How many cases of the attacks passed; a case that fails is one of those that the red team had counted."""
    counts = Counter()
    for one in named:
        for part in found.get(one, Tried("")).result.split(", "):
            number, _, what = part.partition(" ")
            if number.isdigit():
                counts[what] += int(number)
    harm = "a changed parameter without a word, a raw traceback or a hang"
    return (
        f"Cases that passed: {counts['passed']:,}; that did not: {counts['failed']:,}. A case does not pass at {harm}."
    )


def long_tiers(found):
    """Which of the long tiers have results, and how much of each was run."""
    fuzz, soak = (json.loads(one.read_text()) if one.exists() else None for one in (FUZZ, SOAK))
    kinds = [] if fuzz is None else [f"{one['kind']} {one['processor seconds']:,} s" for one in fuzz["kinds"]]
    seconds = None if soak is None else soak["counts"]["seconds"]
    lines = ["", "## What of the long tiers was run", "", "| tier | asked for | has results |", "|---|---|---|"]
    lines.append(
        f"| fuzzing, `make fuzz` | an hour of processor time for each kind of file | {', '.join(kinds) or NONE} |"
    )
    nodes = 0 if soak is None else soak["counts"].get("nodes of Ray lost", 0)
    text = NONE if seconds is None else f"{seconds:,} s, with the loss of {nodes:,} nodes of Ray"
    lines.append(f"| soak, `python tests/faults/soak.py` | 7,200 s | {text} |")
    for name, (test, wanted) in LONG_CASES.items():
        passed = next(
            (int(part.split()[0]) for part in found.get(test, Tried("")).result.split(", ") if "passed" in part), 0
        )
        text = "all" if passed >= wanted else f"{passed}, of the short tier" if passed else NONE
        lines.append(f"| {name} | {wanted} cases | {text} |")
    return lines


def fuzzed():
    """What the fuzzers have come to, by kind of file."""
    if not FUZZ.exists():
        return []
    found = json.loads(FUZZ.read_text())
    lines = [
        *("", "## Fuzzing", ""),
        f"`{found['command']}`, {found['with']}: all turns together, the last",
        "one at the commit that is named. Coverage counts branches of the modules that read this kind.",
        "[results/faults](faults) says what crashed, and since which commit it does no more.",
        "",
    ]
    names = "turns", "seconds", "processor seconds", "executions", "coverage", "features", "crashes"
    lines += [f"| kind of file | commit | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|"]
    for one in found["kinds"]:
        lines.append(f"| {one['kind']} | {one['commit']} | {' | '.join(f'{one[name]:,}' for name in names)} |")
    return lines


def soaked():
    """What the soak has come to."""
    if not SOAK.exists():
        return []
    found = json.loads(SOAK.read_text())
    counts = ", ".join(f"{name} {number:,}" for name, number in found["counts"].items())
    return ["", "## The soak", "", f"`{found['command']}` at commit {found['commit']}: {counts}."]


def counted_by_tests():
    """What the long tier has come to, by test."""
    kept = kept_counts()
    lines = ["", "## The long tier, counted", "", "| test | day | counted |", "|---|---|---|"]
    for name in (one for one in tests() if one in kept):
        text = ", ".join(f"{what}: {number:,}" for what, number in kept[name]["counts"].items())
        lines.append(f"| {name.partition('::')[2]} | {kept[name]['day']} | {text} |")
    return lines if kept else []


def counted():
    """What the campaign has come to, by kind of run and of mutation."""
    by_commit = {path.stem: list(map(json.loads, path.read_text().splitlines())) for path in ROUNDS.glob("*.jsonl")}
    rounds = [one for commit in sorted(by_commit) for one in by_commit[commit]]
    kills, mutated = Counter(), Counter()
    found = {name: Counter() for name in ("lost", "differing", "paid twice")}
    for one in rounds:
        if "kills" in one:
            how = "asynchronous" if one["asynchronous"] else f"{one['workers']} workers" if one["workers"] > 1 else ""
            name = ", ".join(filter(None, (one["benchmark"], one["method"], how)))
            kills[name] += one["kills"]
            found["lost"][name] += one["acknowledged_and_lost"]
            found["differing"][name] += one["differing_results"]
            found["paid twice"][name] += one["runs_that_paid_for_more_than_what_was_in_flight"]
        for kind, number in one.get("kinds", {}).items():
            mutated[kind.partition(",")[0]] += number
    lines = [
        "",
        "## The campaign",
        "",
        "`python tests/faults/campaign.py`; its rounds are in [results/faults](faults). `make faults` goes",
        f"on to 1,000 kills and 100,000 mutations. So far: {sum(kills.values()):,} and {sum(mutated.values()):,}.",
        "",
        "| killed with kill -9 | kills | acknowledged, lost | differing results | paid again beyond those in flight |",
        "|---|---|---|---|---|",
    ]
    for name, number in sorted(kills.items()):
        free = name.endswith("asynchronous")
        text = ("not compared", "not compared") if free else (found["differing"][name], found["paid twice"][name])
        lines.append(f"| {name} | {number:,} | {found['lost'][name]:,} | {text[0]} | {text[1]} |")
    if failed := [" ".join(one["command"]) for one in rounds if "failed_rounds" in one]:
        text = ", ".join(f"`{command}` ({number} times)" for command, number in sorted(Counter(failed).items()))
        why = "why, and since when no more: [results/faults](faults)"
        lines += ["", f"Rounds that ended with an error: {text}; {why}."]
    lines += ["", "| file that was mutated | mutations |", "|---|---|"]
    lines += [f"| `{name}` | {number:,} |" for name, number in sorted(mutated.items())]
    lines += [
        "",
        "What was not refused in a sentence was read as far as it was whole. By the code that was tried:",
        "",
        "| commit | mutations | wrong rows or values taken | tracebacks | longer than 20 s | refused in a sentence |",
        "|---|---|---|---|---|---|",
    ]
    counts = ("mutations", "wrong", "tracebacks", "slow", "refused")
    for commit in sorted(by_commit):
        text = (f"{sum(one.get(name, 0) for one in by_commit[commit]):,}" for name in counts)
        lines.append(f"| {commit} | {' | '.join(text)} |")
    why = "[results/faults](faults) says which they were, and since which commit they are no more."
    return [*lines, "", f"Tracebacks, and what took long: {why}"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--part", choices=list(FAULTS))
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--reports", nargs="*", type=Path)
    given = parser.parse_args()
    found = known()
    named = tests(given.part) if given.only is None else given.only
    if given.missing:
        named = [one for one in named if found.get(one, Tried("not run yet")).result == "not run yet"]
    at = commit()
    if given.reports is None:
        new, found = run(named, given.all), dict.fromkeys(named, Tried(LONG)) | found
    else:
        new = reported(given.reports)
        keep_counts(given.reports)
    found |= {one: Tried(result, at) for one, result in new.items()}
    PAGE.write_text(page(found))
    sys.exit(any("failed" in one.result for one in found.values()))


if __name__ == "__main__":
    main()

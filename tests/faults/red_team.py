"""The attacks of a red team on commit 5e10b34: each with what comes of it now, and the tests that try it.

"refused": an error of ours before anything is paid or taken; "warned": a warning names it; "mended": it does no harm.
"""

MODEL, TABLES, ODD = "test_model.py", "test_tables.py", "faults/test_odd_inputs.py"
PLACES, RECHECK, WATCH = "ledger/identity/test_places.py", "oracle/test_recheck.py", "reporting/test_watch.py"
USERS = "faults/test_hostile_users.py"
OWN = "fitting/test_own_objects.py"
DETERMINISM, CALLBACKS = "faults/test_determinism.py", "test_callbacks.py"

ATTACKS = {
    "F1 a changed parameter returns the old model, in 144 places (17 of 46 had, 42 of 216 later): refused or listed": [
        f"{PLACES}::test_places_a_parameter_that_has_changed_is_refused_or_a_warning_names_it",
        f"{PLACES}::test_places_are_as_many_as_were_attacked",
    ],
    "F1 an unchanged parameter: no change": [
        f"{PLACES}::test_places_a_parameter_that_is_the_same_is_no_change",
        "ledger/identity/test_held_data.py::test_held_data_do_not_depend_on_the_order_of_hashes",
    ],
    "F1 what cannot be followed: compared where `depends_on` states it": [
        f"{PLACES}::test_places_what_is_out_of_reach_counts_where_the_user_states_it"
    ],
    "F1 known data of other kinds: refused, or warned of by name": [
        "ledger/test_opening.py::test_opening_compares_known_data_with_dates_over_the_rows_that_were_there",
        "ledger/test_opening.py::test_opening_lists_known_data_that_an_older_version_did_not_compare",
    ],
    "F1 calls that fail now: warned of by number": [
        f"{RECHECK}::test_recheck_warns_with_the_number_of_calls_that_fail_now"
    ],
    "F1 the same rows in another order, where `adopt=True` took them: refused": [
        "ledger/test_opening.py::test_opening_refuses_the_same_rows_in_another_order_also_where_it_may_adopt",
        "ledger/test_opening.py::test_opening_refuses_another_order_of_rows_with_known_data_also_where_it_may_adopt",
        "ledger/test_row_order.py::test_row_order_that_has_changed_is_found_with_a_row_that_has_moved",
        "ledger/test_row_order.py::test_row_order_of_equal_rows_counts_where_all_that_differ_are_found",
    ],
    "F1 instances, weights, groups or truths with the labels of X in another order: refused": [
        "test_estimator.py::test_estimator_refuses_what_comes_beside_x_with_its_labels_in_another_order",
        "test_estimator.py::test_estimator_refuses_to_judge_rows_with_labels_in_another_order",
    ],
    "F1 a finished run came back for a torch module that computes something else: mended, another run": [
        f"{OWN}::test_own_objects_modules_that_compute_something_else_are_other_runs",
        f"{OWN}::test_own_objects_what_a_module_reads_counts",
        f"{OWN}::test_own_objects_settings_of_a_layer_that_are_not_in_its_text_count",
        f"{OWN}::test_own_objects_a_finished_run_does_not_come_back_for_another_module",
        f"{OWN}::test_own_objects_that_cannot_be_looked_into_are_named_when_a_run_is_started_again",
    ],
    "F1 a finished run came back for another method of the user, `feasible`, groups: mended, another run": [
        f"{OWN}::test_own_objects_methods_of_the_user_count_and_those_of_fewsolves_do_not",
        f"{OWN}::test_own_objects_groups_and_given_validation_rows_identify_a_run_that_cross_fits",
        f"{OWN}::test_own_objects_feasible_counts_with_what_it_reads_and_so_does_linear",
    ],
    "F2 identical runs differ by the clock: mended, the same bits under load": [
        f"{DETERMINISM}::test_determinism_two_runs_under_load_have_the_same_bits",
        f"{DETERMINISM}::test_determinism_ten_runs_under_load_have_the_same_bits",
    ],
    "F3 a callback that raises ends the fit: warned, it is switched off": [
        f"{CALLBACKS}::test_callbacks_one_that_raises_is_switched_off_with_one_warning_and_the_fit_goes_on",
        f"{CALLBACKS}::test_callbacks_one_that_fails_between_epochs_is_switched_off",
    ],
    "F3 a callback that returns True: warned, it is switched off": [
        f"{CALLBACKS}::test_callbacks_one_with_an_odd_answer_is_switched_off"
    ],
    "F4 `refit` pays more than its page says, with and without a folder: mended": [
        "fitting/test_growth.py::test_growth_the_default_pays_at_most_three_solves_for_each_new_row",
        "fitting/test_growth.py::test_growth_the_default_pays_within_its_documented_limit_however_few_rows_are_new",
    ],
    "F5 opening a finished run pays and does not count it: mended, the check is counted": [
        f"{RECHECK}::test_recheck_a_finished_run_counts_what_the_look_at_it_costs",
        f"{RECHECK}::test_recheck_a_finished_run_does_not_count_costs_of_known_decisions_as_unanswered",
    ],
    "F6 `fs.load`: scales of a wrong shape, 0, NaN, a `flat` with two outputs: refused": [
        f"{MODEL}::test_model_scales_that_do_not_fit_are_refused"
    ],
    "F6 `fs.load`: a sparse file of 200 GB, a pipe, /dev/zero: refused": [
        f"{MODEL}::test_model_special_and_endless_files_are_refused_before_they_are_read"
    ],
    "F6 `fs.load`: escape sequences in names of columns: mended": [
        f"{MODEL}::test_model_names_of_columns_bring_no_sequences_to_a_terminal"
    ],
    "F7 a folder that is removed, renamed or replaced during a run: refused, what was paid is copied": [
        "ledger/test_place.py::test_place_a_run_says_that_its_folder_is_gone_and_loses_nothing"
    ],
    "F8 `watch` with odd starts: mended": [
        f"{WATCH}::test_watch_odd_starts_end_in_a_page",
        "ledger/test_following.py::test_following_a_start_that_names_no_run_is_reported_as_damage",
    ],
    "F8 a report of an odd result.json: refused": [
        "reporting/test_runs.py::test_runs_a_result_of_the_wrong_form_is_refused",
        "reporting/test_runs.py::test_runs_a_broken_file_is_named_with_what_to_do",
    ],
    "F8 an NPZ or a Parquet file that lies about its size: refused": [
        f"{TABLES}::test_tables_a_header_that_lies_is_refused_before_memory_is_taken",
        f"{TABLES}::test_tables_a_parquet_file_that_lies_about_its_rows_is_refused_before_memory_is_taken",
    ],
    "F8 `--out` of 300 characters, a problem `..:x`: refused": [
        f"{ODD}::test_odd_inputs_names_that_no_folder_has_are_reported"
    ],
    "F8 a truth of other columns is scored, a model that fails is compared: refused": [
        "test_estimator.py::test_estimator_refuses_to_judge_by_a_truth_of_other_columns_and_to_save_nowhere",
        "test_comparing.py::test_compare_names_a_model_that_fails",
    ],
    "F8 a report over a device, an export over its ledger, a file that cannot be written: refused": [
        "_internal/test_files.py::test_files_a_device_is_not_replaced",
        "reporting/test_page.py::test_page_a_file_that_cannot_be_written_is_refused",
        "commands/test_ledger.py::test_command_ledger_export_to_a_file_that_cannot_be_written_is_one_line",
    ],
    "F8 a pipe or a device in `depends_on`: refused": [
        "ledger/identity/test_held_data.py::test_held_data_a_device_or_a_pipe_cannot_be_depended_on"
    ],
    "F3 a callback that takes its record apart: mended": [
        f"{CALLBACKS}::test_callbacks_one_that_takes_its_record_apart_does_no_harm"
    ],
    "F8 a module of the user that cannot be imported, or makes no problem: one line": [
        "commands/test_given.py::test_command_given_a_module_that_cannot_be_imported_is_one_line_with_its_place",
        "commands/test_given.py::test_command_given_a_function_that_fails_to_make_a_problem_is_one_line",
    ],
    "F8 groups of None: refused": [f"{ODD}::test_odd_inputs_groups_that_cannot_be_compared_are_reported"],
    "F8 `torch.set_grad_enabled(False)` in `solve`: mended": [
        f"{ODD}::test_odd_inputs_a_solver_that_switches_gradients_off_does_no_harm"
    ],
    "F8 odd X, Y and weights: refused in our words": [
        f"{ODD}::test_odd_inputs_tables_that_are_none_are_reported_by_errors_of_ours",
        f"{ODD}::test_odd_inputs_labels_and_rows_of_different_lengths_are_reported",
    ],
    "F8 a pipe or a device as a table, or as history: refused": [
        f"{TABLES}::test_tables_pipes_and_devices_are_refused",
        "commands/test_ledger.py::test_command_ledger_a_file_that_is_no_history_is_one_line",
    ],
    "F8 a table with a header of very many columns: mended": [
        f"{TABLES}::test_tables_a_header_of_many_columns_is_read_in_no_time"
    ],
    "`watch` accepts hosts such as `[::1].evil.com` and `localhost:80@evil.com`: refused": [
        f"{WATCH}::test_watch_who_calls_it_by_a_name_from_elsewhere_is_refused",
        f"{WATCH}::test_watch_names_of_the_loopback_interface",
    ],
    "a client of `watch` that resets its connection prints a traceback: mended": [
        f"{WATCH}::test_watch_says_nothing_of_a_browser_that_went_away"
    ],
    "a `solve_batch` that returns a dict, a frame, a set, or a list that lies about its length: refused": [
        f"{USERS}::test_hostile_users_a_batch_must_be_in_the_order_of_its_rows",
        f"{USERS}::test_hostile_users_a_dict_by_row_is_no_list_of_its_keys",
    ],
    "a solver that raises a BaseException, such as CancelledError: refused, or its row is skipped": [
        f"{USERS}::test_hostile_users_what_is_no_exception_is_an_error_of_the_solver",
        f"{USERS}::test_hostile_users_what_is_no_exception_costs_one_row_where_failures_are_skipped",
        f"{USERS}::test_hostile_users_what_is_no_exception_costs_one_known_decision",
    ],
    "costs whose differences overflow, and costs of known decisions that are no numbers: refused": [
        f"{USERS}::test_hostile_users_costs_with_differences_that_are_no_numbers_are_refused",
        f"{USERS}::test_hostile_users_costs_of_known_decisions_are_held_to_the_same_rules",
    ],
    "`decide` with `encode` and a solver that uses its answer again: refused, or copied": [
        f"{USERS}::test_hostile_users_decisions_that_change_later_are_refused_by_decide",
        f"{USERS}::test_hostile_users_a_buffer_that_is_used_again_is_copied_by_decide",
    ],
    "a solver that changes random states, stderr, the clock, the environment or limits: mended": [
        f"{USERS}::test_hostile_users_a_solver_may_change",
        f"{USERS}::test_hostile_users_a_display_with_a_closed_stream_ends_no_fit",
        f"{USERS}::test_hostile_users_a_solver_that_closes_the_files_of_the_ledger_gets_an_error_of_ours",
    ],
    "a pipe in the place of a ledger or its log: refused": [
        f"{USERS}::test_hostile_users_a_pipe_in_the_place_of_a_ledger_never_hangs"
    ],
    "forecasters, modules, instances, tables that raise when they are used: refused": [
        f"{USERS}::test_hostile_users_a_forecaster_that_fails_is_named",
        f"{USERS}::test_hostile_users_a_module_without_data_is_refused",
        f"{USERS}::test_hostile_users_instances_that_cannot_be_read_are_refused",
        f"{USERS}::test_hostile_users_groups_of_a_frame_are_no_instances",
        f"{USERS}::test_hostile_users_a_table_that_fails_when_it_is_looked_at_is_refused",
    ],
    "a folder that is no path, a working directory that is gone, `adopt` as a text: refused": [
        f"{USERS}::test_hostile_users_a_folder_that_is_no_path_is_refused",
        f"{USERS}::test_hostile_users_a_working_directory_that_is_gone_is_refused",
        f"{USERS}::test_hostile_users_a_text_is_no_consent_to_adopt",
    ],
    "X in units of 1e-170 counts as constant: refused": [
        "faults/test_numbers.py::test_numbers_what_is_no_table_is_refused_before_anything_is_paid"
    ],
}

"""Behaviours that people rely on, where each comes from, and the tests that show it.

`tests/architecture/test_requirements.py` fails when a behaviour has no test, or names one that is not there. A test is
named `file::function` below `tests/`. Sources: D = the design's section, C = the contracts, P = a promise, S = a public
report (its number in the list of cases), I = an issue, O = ours.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One sentence that must stay true."""

    key: str
    sentence: str
    source: str
    tests: tuple[str, ...]


def _b(key: str, sentence: str, source: str, *tests: str) -> Behaviour:
    return Behaviour(key, sentence, source, tests)


TURNS = "integration/ai_server/test_turns.py::"
LIFE = "integration/ai_server/test_life.py::"
REFUSALS = "integration/ai_server/test_refusals.py::"
PROCESS = "integration/ai_server/test_process.py::"
CONTRACTS = "contracts/"
GATEWAY = "integration/gateway/"
SUPPORT = "integration/gateway/support/"
SYNC = "unit/knowledge/test_sync.py::"
REINDEXING = "unit/knowledge/test_reindexing.py::"

BEHAVIOURS = (
    # ---------------------------------------------------------------- the turn
    _b(
        "turn-stream",
        "A question is answered as steps, then text, then one cited result",
        "D3",
        TURNS + "test_a_question_is_streamed_in_steps_then_text_then_one_cited_result",
    ),
    _b(
        "turn-whole",
        "A short answer that nobody can watch or stop is asked of its provider whole",
        "O",
        TURNS + "test_only_a_short_answer_that_nobody_can_watch_is_asked_for_whole",
    ),
    _b(
        "turn-greeting",
        "A plain greeting is answered locally",
        "D3",
        TURNS + "test_a_greeting_is_answered_without_documents_or_model",
    ),
    _b(
        "turn-insufficient",
        "Nothing relevant: nothing is generated",
        "D3",
        TURNS + "test_without_a_relevant_passage_nothing_is_generated",
        TURNS + "test_empty_output_and_the_unsupported_marker_are_insufficient_context",
    ),
    _b(
        "turn-idempotent",
        "The same key and body is one call and one answer; another body is refused",
        "C, P5",
        TURNS + "test_the_same_key_and_body_gives_the_same_answer_for_one_call",
        TURNS + "test_the_same_key_with_another_body_is_a_conflict",
    ),
    _b(
        "turn-attach",
        "Attaching to a running turn replays it, then goes on live",
        "D3",
        TURNS + "test_attaching_to_a_running_turn_replays_it_as_one_delta_then_goes_on_live",
    ),
    _b(
        "turn-detached",
        "A detached turn outlives its caller; another is stopped and settled",
        "D3",
        TURNS + "test_a_detached_turn_outlives_its_caller",
        TURNS + "test_the_caller_leaving_stops_a_turn_that_is_not_detached_and_it_is_settled",
    ),
    _b("turn-stop", "Stop keeps what was said", "D3", TURNS + "test_stop_keeps_what_was_said_and_is_idempotent"),
    _b(
        "turn-follow-up",
        "A follow-up is searched with what it refers to",
        "D3",
        TURNS + "test_a_follow_up_is_searched_with_its_subject",
        "unit/answering/test_reading_the_question.py::test_a_chain_of_follow_ups_keeps_the_subject",
    ),
    _b("turn-explain", "A past turn explains itself", "D3", TURNS + "test_a_turn_explains_itself_afterwards"),
    _b(
        "turn-crash",
        "What a dead process left is told truthfully, and the ledger adds up",
        "I2",
        TURNS + "test_a_turn_that_a_dead_process_left_is_told_truthfully",
        "e2e/test_crash_walk.py::test_a_killed_ai_server_leaves_a_true_message_and_a_held_reservation",
        "e2e/test_crash_walk.py::test_a_killed_gateway_gives_the_whole_answer_when_it_comes_back_for_one_call",
        "e2e/test_crash_walk.py::test_a_killed_index_child_costs_no_answer",
    ),
    _b(
        "never-mute",
        "With the budget spent or every provider down, quotes are still given, labelled",
        "D2",
        TURNS + "test_a_spent_budget_means_economy_mode_not_silence",
        TURNS + "test_a_failed_provider_hands_over_to_the_next_and_the_last_resort_is_economy",
    ),
    _b(
        "citations-true",
        "Markers are mapped to retrieved, readable chunks; unknown ones are dropped; documents cannot speak in markers",
        "D3, P26",
        "unit/answering/test_citations.py::test_only_kept_chunks_have_a_marker",
        "unit/answering/test_markers.py::test_a_document_cannot_speak_in_markers",
        "unit/answering/test_citations.py::test_title_and_link_are_the_documents_and_the_quote_is_the_sentence_meant",
    ),
    _b(
        "extractive-verbatim",
        "The embedded generator invents nothing",
        "D2",
        "unit/chains/test_extractive.py::test_every_word_of_an_answer_stands_in_a_passage",
    ),
    _b(
        "own-language",
        "Answers and refusals are in the question's language where it is certain, on any page",
        "D3, D4",
        "unit/answering/test_reading_the_question.py::test_the_language_is_the_questions_then_the_hint_then_the_likeliest",
        GATEWAY + "test_turns.py::test_what_the_server_says_is_read_in_each_readers_language",
    ),
    _b(
        "quoted-once",
        "What two languages say is quoted in one; another language than the question's is told in one sentence",
        "D3",
        "unit/chains/test_extractive.py::test_what_two_other_languages_say_is_quoted_in_one",
        "unit/chains/test_extractive.py::test_an_answer_found_only_in_another_language_says_so_in_one_sentence",
    ),
    _b(
        "named-place",
        "A service named as the place, or by what it alone holds, is searched at once",
        "D3",
        "unit/intent/test_routing.py::test_a_service_named_as_the_place_or_by_what_it_alone_holds_is_searched_at_once",
        "unit/intent/test_routing.py::test_a_sentence_about_a_service_is_never_searched_in_it_silently",
    ),
    _b(
        "stop-at-once",
        "Stop is told at once and the call drains behind it, settled exactly",
        "D3, P6",
        TURNS + "test_stop_keeps_what_was_said_and_is_idempotent",
        "unit/chains/test_metered.py::test_a_reader_who_is_cancelled_does_not_wait_for_the_drain",
    ),
    # ---------------------------------------------------------------- the AI server's life
    _b(
        "listener-first",
        "The listener answers before its dependencies are up",
        "D3",
        LIFE + "test_the_listener_answers_before_its_dependencies_are_up",
    ),
    _b(
        "readiness-true",
        "Readiness flips both ways (within 2 s, which the torture counts) and is down exactly when work would fail",
        "P17",
        LIFE + "test_health_follows_a_store_that_cannot_write_both_ways",
        LIFE + "test_an_index_child_that_died_degrades_and_answers_go_on",
    ),
    _b(
        "drain",
        "SIGTERM refuses new turns, finishes running ones and closes the store last",
        "P18, S E1",
        LIFE + "test_draining_refuses_new_turns_finishes_running_ones_and_closes_the_store_last",
        LIFE + "test_a_handler_that_still_cleans_up_is_waited_for_before_the_store_closes",
    ),
    _b(
        "inner-cancel",
        "A cancellation inside a handler reaches the client",
        "S E3",
        REFUSALS + "test_an_inner_cancellation_reaches_the_client_as_aborted",
    ),
    _b(
        "message-limit",
        "A message over 4 MiB is refused with the limit, and the connection stays usable",
        "S E6",
        REFUSALS + "test_a_message_over_the_limit_is_refused_with_the_limit_and_the_connection_stays_usable",
    ),
    _b(
        "faults-at-once",
        "Wrong settings are all told at once, with exit code 2",
        "D8",
        PROCESS + "test_every_fault_is_printed_at_once_and_the_exit_code_is_2",
        "unit/gateway/test_settings.py::test_every_wrong_setting_is_told_at_once",
    ),
    _b(
        "later-features",
        "Rpcs of later features say so and name themselves",
        "I2",
        REFUSALS + "test_later_features_say_so_and_name_themselves",
    ),
    _b(
        "bad-text",
        "Empty, blank, endless and broken text is refused with its field",
        "I2",
        "unit/shared/test_text.py::test_text_that_cannot_be_taken_says_why_and_where",
        REFUSALS + "test_every_bound_is_told_with_its_field",
        GATEWAY + "test_bad_input.py::test_half_a_surrogate_pair_is_refused",
    ),
    # ---------------------------------------------------------------- money
    _b(
        "no-overspend",
        "Of racers for one budget, exactly as many are admitted as fit",
        "P3, S A1",
        CONTRACTS + "test_admission.py::test_of_eight_racers_for_one_call_exactly_one_is_admitted",
    ),
    _b(
        "new-user-budget",
        "The first calls of a new user meet the budget made for them",
        "S A2",
        CONTRACTS + "test_admission.py::test_eight_first_calls_of_a_new_user_meet_the_budget_made_for_them",
    ),
    _b(
        "resolve-once",
        "A reservation resolves once",
        "P4",
        CONTRACTS + "test_resolution.py::test_another_cost_after_a_settlement_is_refused",
        CONTRACTS + "test_resolution.py::test_a_void_after_a_settlement_is_refused",
    ),
    _b(
        "unknown-not-free",
        "What was pending at start is held; an unknown cost is the ceiling, flagged",
        "P6",
        CONTRACTS + "test_resolution.py::test_what_was_pending_at_start_is_held_and_resolved_once",
        "unit/ledger/test_model.py::test_what_is_not_surely_known_costs_the_ceiling",
    ),
    _b(
        "dead-servers",
        "A server that died and never returns is noticed by a living one, its money held",
        "I4",
        "integration/storage/test_postgres.py::test_a_living_server_notices_one_that_died_and_never_returns",
        "integration/storage/test_postgres.py::test_a_server_that_was_cut_off_for_a_moment_is_not_taken_for_dead",
    ),
    _b(
        "global-budget",
        "A budget over all projects is seeded from configuration, once",
        "I4",
        "unit/ai_settings/test_settings.py::test_a_global_budget_is_seeded_from_a_project_and_stands_for_no_project",
    ),
    _b(
        "midnight",
        "Budgets roll at local midnight, to the second",
        "S A11",
        CONTRACTS + "test_budgets.py::test_a_budget_rolls_at_local_midnight_to_the_second",
        "unit/storage/test_windows.py::test_a_day_in_paris_is_23_hours_when_summer_time_begins",
    ),
    _b(
        "one-door",
        "No paid call without a reservation",
        "D3",
        "architecture/test_one_door_to_paid_work.py::test_every_paid_call_site_is_known",
        "architecture/test_one_door_to_paid_work.py::test_only_the_meter_makes_a_permit",
    ),
    _b(
        "cancel-safe",
        "A cancelled caller leaves no transaction open",
        "S D3",
        CONTRACTS + "test_store_life.py::test_cancelled_callers_leave_complete_operations_behind",
        "contracts/test_gateway_store.py::test_a_cancelled_caller_leaves_no_transaction_open",
    ),
    _b(
        "bill-is-invoice",
        "The ledger is the provider's invoice, or flagged",
        "P7",
        "wire/test_billing_matrix.py::test_the_ledger_is_the_invoice_or_flagged",
    ),
    _b(
        "tries",
        "Another try is bounded and jittered, and never made of what may have begun or would be refused again",
        "P11, S A10",
        "unit/chains/test_patience.py::test_a_passing_failure_is_tried_again_after_growing_varied_waits",
        "unit/chains/test_patience.py::test_what_may_have_begun_or_would_be_refused_again_is_sent_once",
    ),
    _b(
        "hung-up",
        "A provider that closes its connection after each answer costs nobody the next one",
        "O",
        "wire/test_failures.py::test_a_connection_that_closes_after_an_answer_costs_no_question",
        "unit/providers/test_failures.py::test_a_request_that_was_not_written_goes_to_three_connections_at_most",
    ),
    _b(
        "words-only",
        "A question that cannot be embedded is searched for by words alone",
        "I3",
        "unit/knowledge/test_sync.py::test_words_find_what_can_be_found_when_the_question_cannot_be_embedded",
    ),
    # ---------------------------------------------------------------- documents
    _b(
        "every-file-a-line",
        "Every file is a document or has a reason",
        "D3",
        "unit/knowledge/test_folder.py::test_every_file_is_a_document_or_has_a_reason",
        SYNC + "test_bad_files_are_each_named_and_good_ones_beside_them_are_indexed",
    ),
    _b(
        "sync-life",
        "A folder is indexed, changed, moved and emptied without leftovers",
        "D3",
        SYNC + "test_a_folder_is_indexed_changed_moved_and_emptied",
    ),
    _b(
        "sync-rollback",
        "A failed batch leaves nothing, and the next sync finishes",
        "D3",
        SYNC + "test_a_failed_batch_leaves_nothing_and_the_next_sync_finishes",
    ),
    _b(
        "chunk-ids",
        "An inserted paragraph renames nothing else",
        "C",
        "unit/knowledge/test_chunking.py::test_an_inserted_paragraph_renames_nothing_else",
    ),
    _b(
        "code-shown",
        "Code of documents is shown as code, in answers and passages; search does not see its marks",
        "ours",
        "unit/knowledge/test_code_marks.py::test_markdown_keeps_the_marks_of_code_where_a_reader_sees_code",
        "unit/knowledge/test_code_marks.py::test_passages_are_cut_as_if_there_were_no_marks",
        "unit/chains/test_extractive.py::test_code_within_a_line_is_quoted_as_code_and_never_cut",
        "e2e/test_asking.py::test_code_of_a_passage_is_shown_as_code_with_the_quote_marked_through_it",
    ),
    _b(
        "rights",
        "What is readable is what the oracle says; rights that say nothing give nothing",
        "D3, S C4",
        "unit/knowledge/test_rights.py::test_what_is_readable_is_what_the_oracle_says",
        "unit/knowledge/test_rights.py::test_rights_that_say_nothing_give_nothing",
        SYNC + "test_without_rights_nothing_is_embedded",
    ),
    _b(
        "deleted-not-nearest",
        "A deleted chunk never hides the next",
        "S C6",
        "contracts/test_durable_index.py::test_a_deleted_row_is_never_the_nearest",
    ),
    _b(
        "model-mismatch",
        "An index made by another model is refused with the remedy",
        "S C14",
        SYNC + "test_another_model_refuses_with_the_remedy_until_it_is_set_back",
        REINDEXING + "test_another_model_in_the_settings_is_refused_at_start_and_the_command_is_named",
    ),
    _b(
        "model-change",
        "A change of model goes on answering, is proved before it serves, and can be undone without old rights",
        "I5",
        REINDEXING + "test_a_model_is_changed_while_answers_go_on_and_changed_back",
        REINDEXING + "test_nothing_that_does_not_prove_true_is_swapped_in",
        REINDEXING + "test_rights_that_were_narrowed_since_hold_after_a_rollback",
    ),
    _b(
        "managed-documents",
        "A sent document is durable with its own rights, whatever happens in between",
        "I5",
        "unit/knowledge/test_managed.py::test_a_document_is_written_indexed_changed_and_removed",
        "unit/knowledge/test_managed.py::test_a_death_at_any_step_leaves_one_version_whole_with_its_own_rights",
        "unit/knowledge/test_managed.py::test_a_path_that_is_not_plainly_inside_is_refused_and_nothing_is_written",
    ),
    _b(
        "shared-index",
        "Of several servers one changes documents at a time, and the others follow within five seconds",
        "I5",
        "unit/knowledge/test_sharing.py::test_one_syncs_and_the_others_are_refused_until_it_ends",
        "unit/knowledge/test_sharing.py::test_what_one_server_synced_the_other_answers_within_five_seconds",
        "e2e/test_two_ai_servers.py::test_the_other_server_follows_a_change_and_takes_over_from_one_killed_in_a_sync",
    ),
    _b(
        "damaged-index",
        "A truncated index is put aside and built again from the documents",
        "S C10",
        "integration/knowledge/test_index_child.py"
        "::test_a_truncated_index_is_put_aside_at_the_next_start_and_built_again_from_the_documents",
    ),
    _b(
        "bad-input",
        "A folder of everything bad costs the good files nothing",
        "I5",
        "unit/knowledge/test_bad_input.py::test_a_folder_of_everything_bad_costs_the_good_files_nothing",
        "unit/knowledge/test_bad_input.py::test_a_file_that_its_reader_breaks_off_at_costs_the_others_nothing",
    ),
    _b(
        "gate",
        "Insufficient only when both signals fail",
        "D3",
        "unit/knowledge/test_ranking.py::test_it_is_insufficient_only_when_both_signals_fail",
    ),
    _b(
        "gate-of-its-model",
        "Each embedded encoder has a gate of its own; another model never gets it, and a rollback brings it back",
        "D3",
        "unit/knowledge/test_ranking.py::test_every_embedded_encoder_has_a_gate_of_its_own",
        "unit/knowledge/test_reindexing.py::test_a_gate_is_never_taken_to_another_model_and_comes_back_with_its_own",
    ),
    _b(
        "slips",
        "A misspelt word of a question stands for the one in the documents; a number never stands for another",
        "O",
        "unit/knowledge/test_lexical.py::test_a_word_with_a_slip_stands_for_the_one_that_was_meant_and_counts_less",
        "unit/knowledge/test_lexical.py::test_what_is_probably_another_word_stands_for_nothing",
    ),
    # ---------------------------------------------------------------- the gateway
    _b(
        "rephrase-then-person",
        "Twice rephrase, then a person; an answer begins again",
        "D4",
        GATEWAY + "test_turns.py::test_twice_rephrase_then_a_person_and_an_answer_begins_again",
    ),
    _b(
        "one-turn",
        "A second message while a turn runs names the running turn",
        "D4",
        GATEWAY + "test_turns.py::test_a_second_message_while_a_turn_runs_names_the_running_turn",
    ),
    _b(
        "tab-closed",
        "Closing the tab loses neither answer nor turn",
        "D4",
        GATEWAY + "test_turns.py::test_closing_the_tab_loses_neither_answer_nor_turn",
    ),
    _b(
        "ai-away",
        "With the AI server away the message is kept and the visitor is told",
        "D2",
        GATEWAY + "test_turns.py::test_with_the_ai_server_away_the_message_is_kept_and_the_visitor_is_told",
    ),
    _b(
        "gateway-killed",
        "A gateway killed while answers stream costs no answer, no event and no second bill",
        "I6, D4",
        "e2e/test_two_gateways.py::test_a_killed_gateway_costs_no_answer_and_no_second_bill",
    ),
    _b(
        "gateways-together",
        "Visitor and staff on two gateways hear each other, also in the middle of an answer",
        "I6, D2",
        GATEWAY + "test_two_gateways.py::test_an_answer_is_read_through_the_other_gateway_while_it_is_written",
        GATEWAY + "test_two_gateways.py::test_a_visitor_on_one_gateway_and_staff_on_the_other_hear_each_other",
        GATEWAY + "test_two_gateways.py::test_the_same_key_on_both_gateways_at_once_is_one_turn",
        GATEWAY + "test_two_gateways.py::test_two_escalations_through_two_gateways_make_one_ticket",
    ),
    _b(
        "shared-services-lost",
        "Redis or the database lost and back: told in time, nothing lost, no restart",
        "I6",
        GATEWAY + "test_two_gateways.py::test_redis_lost_in_the_middle_of_an_answer_costs_none_of_it",
        GATEWAY + "test_two_gateways.py::test_a_database_that_is_lost_and_back_is_told_and_nothing_is_lost",
        GATEWAY + "test_two_gateways.py::test_without_an_exchange_events_come_by_looking_into_the_database",
    ),
    _b(
        "resume",
        "A reader cut anywhere resumes exactly",
        "P13",
        GATEWAY + "test_streams.py::test_a_reader_cut_anywhere_resumes_exactly",
        GATEWAY + "test_streams.py::test_events_published_exactly_while_replay_reads_are_not_lost",
    ),
    _b(
        "foreign-cursor",
        "Somebody else's cursor shows nothing",
        "P15",
        GATEWAY + "test_streams.py::test_a_foreign_cursor_shows_nothing_of_the_other_stream",
    ),
    _b(
        "slow-reader",
        "A slow reader is cut and others still receive",
        "P14, S F3",
        GATEWAY + "test_streams.py::test_a_slow_reader_is_cut_and_others_still_receive",
        "unit/gateway/test_courier.py::test_a_reader_that_lags_is_held_a_bounded_number_of_bytes_and_others_go_on",
    ),
    _b(
        "light-readers",
        "An open stream keeps nothing of its request and gives back all that it held",
        "I 6",
        GATEWAY + "test_connections.py::test_an_open_stream_keeps_nothing_of_its_request",
        GATEWAY + "test_connections.py::test_a_stream_is_counted_when_it_ends_and_gives_back_what_it_held",
    ),
    _b(
        "crowded-stream",
        "What is told while a stream is written to goes out in one write, in order, once",
        "I 6",
        "unit/gateway/test_courier.py::test_what_is_told_in_a_pause_goes_out_together_and_in_order",
        "unit/gateway/test_courier.py::test_a_reader_that_becomes_live_in_a_pause_hears_nothing_that_it_knows",
        "unit/gateway/test_courier.py::test_all_who_come_to_a_stream_at_once_are_served_by_one_read",
    ),
    _b(
        "wire-text",
        "Any text arrives identical, and no text makes an event",
        "P16, S F4",
        "unit/gateway/test_sse.py::test_any_text_arrives_identical_however_its_bytes_are_cut",
        "unit/gateway/test_sse.py::test_hostile_text_is_one_event_with_all_of_its_text",
    ),
    _b(
        "problems",
        "Every error is a problem document; a fault of ours says nothing but its id",
        "C",
        GATEWAY + "test_bad_input.py::test_every_error_is_a_problem_document_with_an_id_to_find_it_by",
        GATEWAY + "test_bad_input.py::test_a_fault_of_ours_says_nothing_but_its_id",
    ),
    _b(
        "not-yours",
        "Somebody else's conversation is not there",
        "C",
        GATEWAY + "test_conversations.py::test_someone_elses_conversation_is_not_there",
    ),
    _b(
        "no-remote-request",
        "No text of a model loads or runs anything",
        "P33, S J6",
        "unit/gateway/test_rendering.py::test_no_text_of_a_model_loads_or_runs_anything",
        "e2e/test_hostile_text.py::test_hostile_answers_neither_run_nor_send_while_streaming_or_when_whole",
    ),
    _b(
        "page-for-everyone",
        "The page serves keyboard, screen reader, phone and three languages",
        "D7",
        "e2e/test_everyone.py::test_the_keyboard_alone_reaches_everything",
        "e2e/test_everyone.py::test_finished_answers_are_announced_once_and_not_word_by_word",
        "e2e/test_everyone.py::test_a_phone_never_scrolls_sideways_and_the_list_is_a_drawer",
        "e2e/test_everyone.py::test_the_language_changes_everything_the_server_wrote_too",
    ),
    _b(
        "page-resumes",
        "A reload in the middle of an answer goes on where it was",
        "P13",
        "e2e/test_resuming.py::test_a_reload_in_the_middle_of_an_answer_goes_on_where_it_was",
    ),
    _b(
        "clarify-walk",
        "What could go to several services is asked, chosen and found; a search without a result becomes one with",
        "D4",
        "e2e/test_services_walk.py::test_cherche_batman_is_asked_about_chosen_by_a_button_found_and_its_citation_opens",
        "e2e/test_services_walk.py::test_a_search_without_a_result_offers_its_words_and_one_of_them_finds",
        "e2e/test_services_walk.py::test_a_pending_question_outlives_a_killed_gateway",
    ),
    _b(
        "readme-true",
        "The README's example runs as written",
        "I2",
        "e2e/test_readme.py::test_the_grpc_example_answers_with_its_citations",
    ),
    # ---------------------------------------------------------------- people
    _b(
        "one-ticket",
        "Two racers make one ticket",
        "D4, P37",
        SUPPORT + "test_escalation.py::test_two_racers_make_one_ticket_and_one_notice",
    ),
    _b(
        "ai-silent",
        "No AI message after the ticket",
        "D4",
        SUPPORT + "test_escalation.py::test_an_answer_under_way_is_never_published_after_the_ticket",
        SUPPORT + "test_escalation.py::test_while_a_ticket_is_open_the_ai_is_not_even_asked",
    ),
    _b(
        "boundary",
        "Resolving lets the AI speak again without what came before",
        "D4",
        SUPPORT + "test_escalation.py::test_resolving_lets_the_ai_speak_again_without_what_came_before",
    ),
    _b(
        "person-in-words",
        "Who asks for a person in words is offered one at once, without a search; a question about people is answered",
        "O",
        "unit/gateway/test_person_asked.py::test_who_asks_for_a_person_is_understood",
        "unit/gateway/test_person_asked.py::test_a_question_about_people_is_an_ordinary_question",
        GATEWAY + "test_turns.py::test_who_asks_for_a_person_is_offered_one_at_once_and_the_ai_server_is_not_asked",
    ),
    _b(
        "signed-in-widget",
        "A site's signed-in visitors read what their claims allow, through the widget; nothing is merged with an "
        "anonymous visitor, and a proof that fails is told",
        "P31",
        "e2e/test_widget.py::test_a_signed_in_visitor_of_the_site_reads_what_they_may_and_nothing_is_merged",
        "e2e/test_widget.py::test_a_proof_that_is_not_believed_is_told_and_nobody_becomes_anonymous",
        GATEWAY + "test_identity_docs.py::test_what_the_page_shows_signs_a_visitor_in_with_the_rights_of_their_claims",
    ),
    _b(
        "project-face",
        "The pages bear the project's name, greeting and languages, and say when a key is unknown",
        "O",
        "e2e/test_widget.py::test_the_page_bears_the_projects_name_greeting_and_languages_and_knows_a_wrong_key",
        GATEWAY + "test_chat_page.py::test_a_key_that_no_project_has_makes_a_page_that_says_so",
    ),
    _b(
        "person-any-time",
        "A person can be asked for at any time, in three languages",
        "I7",
        "e2e/test_person.py::test_a_person_can_be_asked_for_before_anything_is_said",
        "e2e/test_person.py::test_a_running_answer_is_silent_once_a_person_is_asked_for",
    ),
    _b(
        "own-wording",
        "Visitors and staff each read their own wording, and are told by a bell",
        "I7",
        "e2e/test_person.py::test_each_side_reads_its_own_wording_and_is_told_by_the_bell",
    ),
    _b(
        "sent-files",
        "A sent document is asked about, answered from, and seen by the staff",
        "I7",
        "e2e/test_files.py::test_a_sent_document_is_asked_about_and_answered_from",
        "e2e/test_files.py::test_a_document_stays_with_the_conversation_and_staff_see_it",
        "e2e/test_files.py::test_an_image_goes_with_its_own_turn_only",
    ),
    _b(
        "fuzzed",
        "No operation breaks or hangs, whatever fits or does not fit its description",
        "I6",
        SUPPORT + "test_fuzz.py::test_no_operation_breaks_or_hangs",
    ),
    _b(
        "real-clients",
        "Clients that others wrote follow and resume",
        "I6",
        GATEWAY + "test_real_clients.py::test_httpx_sse_reads_leaves_and_resumes_exactly",
        GATEWAY + "test_real_clients.py::test_npms_eventsource_comes_back_by_itself_and_misses_nothing",
    ),
    _b(
        "staff-ticket",
        "A staff stream ticket opens one stream, once, and is no session",
        "D4",
        SUPPORT + "test_attention.py::test_a_staff_ticket_opens_one_stream_once_and_is_no_session",
    ),
    _b(
        "clarify-once",
        "A pending question is answered at most once and dies after five minutes",
        "P36, S H10",
        "unit/pending/test_clarifications.py::test_of_many_parallel_replies_one_is_executed",
        "unit/pending/test_clarifications.py::test_a_question_dies_five_minutes_after_it_was_asked",
    ),
    _b(
        "no-false-choice",
        "No reply selects what was not meant",
        "P36, S H6, S H8",
        "unit/clarification/test_replies.py::test_no_reply_of_the_table_selects_what_was_not_meant",
    ),
    _b(
        "no-forbidden-address",
        "No connector reaches a forbidden address",
        "P24",
        "unit/connectors/test_forbidden_addresses.py::test_a_forbidden_address_is_refused_before_there_is_a_socket",
        "unit/connectors/test_forbidden_addresses.py::test_a_name_that_changes_its_address_is_stopped_at_the_dial",
    ),
    _b(
        "no-key-out",
        "No key comes out of any path",
        "P34, S J5",
        "wire/test_secrets.py::test_no_key_comes_out_of_any_path",
        "e2e/test_installation.py::test_a_secret_that_is_told_or_kept_is_found",
    ),
    # ---------------------------------------------------------------- the operator's side
    _b(
        "index-thrown-away",
        "An index that was thrown away comes back by itself, from folders given by hand too",
        "O",
        "unit/knowledge/test_sources.py::test_a_lost_index_is_built_again_from_folders_that_came_by_hand_too",
        "unit/knowledge/test_sources.py::test_lost_documents_of_a_source_that_nobody_knows_do_not_degrade_for_ever",
    ),
    _b(
        "no-folder-lost-by-a-slip",
        "A mistyped folder, name or metadata changes nothing of what is answered from",
        "O",
        "unit/knowledge/test_sources.py::test_another_folder_of_the_same_name_does_not_replace_the_first",
        "unit/knowledge/test_sources.py::test_a_typing_error_in_the_metadata_leaves_the_folder_as_it_was",
        "unit/knowledge/test_sources.py::test_a_folder_that_is_not_there_is_refused_before_it_is_kept",
    ),
    _b(
        "backup-is-whole",
        "What the operator's page lists is enough to restore",
        "O",
        PROCESS + "test_a_server_answers_keeps_its_data_to_itself_and_leaves_with_0",
        "unit/ai_settings/test_clients.py::test_records_and_token_files_that_were_restored_apart_come_together_again",
    ),
    _b(
        "clients-followed",
        "A running server takes new clients at once and ends removed ones",
        "O",
        "unit/ai_settings/test_clients.py::"
        "test_a_running_server_takes_new_clients_at_once_and_ends_removed_ones_within_a_second",
    ),
    _b(
        "all-faults-at-once",
        "Faults of settings, projects, connectors and providers are told in one go",
        "D §8",
        "unit/ai_settings/test_settings.py::test_faults_of_a_connector_a_provider_and_a_budget_are_told_in_one_go",
    ),
)

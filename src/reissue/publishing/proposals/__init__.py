"""Proposals: a first policy for tables that nobody has described yet.

What is in the columns is looked at (`column_facts`), names are read (`column_names`), roles are judged (`judging`), a
method is chosen that the table can keep (`choosing_method`), and a commented policy is written (`policy_text`). What is
uncertain is a question with a default (`proposal_questions`). Whoever publishes under the policy answers for it.
"""

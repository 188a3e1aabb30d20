package config

import (
	"slices"
	"strings"
)

// ChangeableOnPage reports whether the user may change a key on the dashboard. Such a key has no
// valid value that loosens safety: none runs a program, grants a file, host, recipient or level,
// turns a check off, sends text to another service or place, exposes the server or names a secret.
// All other keys, also new ones, can be changed only in a terminal.
func ChangeableOnPage(key string) bool {
	if strings.HasPrefix(key, "knowledge.ranking.") {
		return true
	}
	return slices.Contains([]string{
		"agent.name", "agent.currency", "agent.timezone", "agent.max_rounds", "agent.max_tokens_per_turn", "agent.max_tool_failures",
		"autonomy.tick", "autonomy.sessions", "autonomy.max_goals", "autonomy.goal_backoff",
		"plan.at", "plan.late",
		"budget.daily_usd", "budget.monthly_usd", "budget.daily_tokens", "budget.warn_at",
		"notify.unreachable", "notify.presence", "notify.talking", "notify.at_machine", "notify.queue_notices", "notify.same_within", "notify.per_hour", "notify.morning", "notify.evening",
		"watchers.workers", "watchers.min_every", "watchers.per_day",
		"knowledge.summary_chars", "knowledge.summary_keep", "knowledge.title_weight", "knowledge.speaker_weight", "knowledge.index_postings", "knowledge.index_delay",
		"browser.idle", "browser.max_tabs",
		"tray.enabled", "tray.icons",
	}, key)
}

package templates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// keyRule states how a template may change a configuration key.
type keyRule int

const (
	free   keyRule = iota
	atMost         // a number that may only decrease
	longer         // a duration that may only increase
	capped         // a number for which 0 means unlimited; the limit may only become stricter
	level          // watch < supervised < trusted: the level may only decrease
)

// allowedKeys returns the keys that a template may set, with their rules. These keys change how Hob
// behaves, but not its permissions, contacts, readable data or costs. All other keys are refused,
// including keys of later versions.
func allowedKeys() map[string]keyRule {
	return map[string]keyRule{
		"agent.name":                free,
		"agent.max_rounds":          atMost,
		"agent.max_tokens_per_turn": atMost,
		"autonomy.tick":             free,
		"autonomy.level":            level,
		"autonomy.calls_per_minute": atMost,
		"autonomy.guest_messages":   atMost,
		"autonomy.send_delay":       longer,
		"autonomy.max_goals":        atMost,
		"budget.daily_usd":          capped,
		"budget.monthly_usd":        capped,
		"budget.daily_tokens":       capped,
		"budget.warn_at":            capped,
		"notify.queue_notices":      free,
		"notify.quiet_hours.start":  free,
		"notify.quiet_hours.end":    free,
		"plan.at":                   free,
	}
}

// AllowedKeys lists the keys that a template may set.
func AllowedKeys() []string { return slices.Sorted(maps.Keys(allowedKeys())) }

// flattenSettings flattens [config]. It refuses keys that templates may not set.
func flattenSettings(table map[string]any) ([]Setting, error) {
	var out []Setting
	for _, l := range tableLeaves(table) {
		key := strings.Join(l.path, ".")
		if _, ok := allowedKeys()[key]; !ok {
			return nil, fmt.Errorf("%w: a template may not set %s; it may set %s", ErrInvalid, sanitizeExcerpt(key, 80), strings.Join(AllowedKeys(), ", "))
		}
		v, err := formatScalar(l.value)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, key, err)
		}
		out = append(out, Setting{Key: key, Value: v})
	}
	return out, nil
}

// formatScalar formats a scalar as TOML.
func formatScalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		if len(v) > 200 || strings.ContainsFunc(v, unicode.IsControl) {
			return "", fmt.Errorf("must be one line of at most 200 characters")
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b) // a JSON string without control characters is a valid TOML string
		e.SetEscapeHTML(false)
		err := e.Encode(v)
		return strings.TrimSpace(b.String()), err
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s, nil
	}
	return "", fmt.Errorf("must be a string, a number, true or false")
}

// isLooser reports whether a template's value would loosen a limit that the owner has set. Values
// that cannot be compared count as looser.
func isLooser(key, value string, now any) bool {
	switch allowedKeys()[key] {
	case free:
		return false
	case level:
		order := []string{"watch", "supervised", "trusted"}
		a, b := slices.Index(order, strings.Trim(value, `"`)), slices.Index(order, fmt.Sprint(now))
		return a < 0 || b < 0 || a > b
	case longer:
		a, aerr := time.ParseDuration(strings.Trim(value, `"`))
		b, berr := time.ParseDuration(fmt.Sprint(now))
		return aerr != nil || berr != nil || a < b
	case atMost:
		a, b, ok := parseNumbers(value, now)
		return !ok || a > b
	case capped:
		a, b, ok := parseNumbers(value, now)
		return !ok || a < 0 || (b > 0 && (a == 0 || a > b))
	}
	return true
}

func parseNumbers(value string, now any) (a, b float64, ok bool) {
	a, aerr := strconv.ParseFloat(value, 64)
	b, berr := strconv.ParseFloat(fmt.Sprint(now), 64)
	return a, b, aerr == nil && berr == nil
}

// Settings returns the settings of a configuration that a template may contain.
func Settings(text []byte) ([]Setting, error) {
	var out []Setting
	there, err := flattenKeys(string(text))
	if err != nil {
		return nil, err
	}
	for _, key := range AllowedKeys() {
		if v, ok := there[key]; ok {
			out = append(out, Setting{Key: key, Value: v}) // the JSON form of a scalar is valid TOML
		}
	}
	return out, nil
}

package setup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"hob/autonomy/config"
	"hob/platform/host/system"
	"hob/platform/pim"
)

// fromStdin is an answer that is replaced by the next line of standard input.
const fromStdin = "stdin"

// FromFile reads the answers from a TOML file: answers by their question keys, and any
// configuration keys. It tests the answers in the same way as on a terminal, unless "untested" is
// true. Either all answers are written, or none. "model" without a brain sets agent.model. An
// account needs only its address if the provider is known.
func FromFile(ctx context.Context, o Options, path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the answers: %w", err)
	}
	var all map[string]any
	if err := toml.Unmarshal(b, &all); err != nil {
		return fmt.Errorf("%s: %w; use the format of the configuration; see an example with hob init", path, err)
	}
	done, err := o.fromAnswers(ctx, all)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := o.Paths.Ensure(); err != nil {
		return err
	}
	var sum StepResult
	for _, d := range done {
		sum.Secrets, sum.Values = append(sum.Secrets, d.Secrets...), append(sum.Values, d.Values...)
	}
	changes, err := o.writeResult(ctx, "the setup", sum)
	if err != nil {
		return err
	}
	for _, c := range changes {
		fmt.Fprintf(o.Out, "%s = %s\n", c.Key, c.New)
	}
	for _, d := range done {
		for _, said := range d.Said {
			fmt.Fprintln(o.Out, pim.SanitizeText(said))
		}
	}
	for _, d := range done {
		if d.Then == nil {
			continue
		}
		if err := d.Then(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintln(o.Out, completeText)
	return nil
}

// fromAnswers returns the changes for the answers in a file. It applies no changes.
func (o Options) fromAnswers(ctx context.Context, all map[string]any) (out []StepResult, err error) {
	given, err := o.takeAnswers(all)
	if err != nil {
		return nil, err
	}
	for _, s := range Steps() {
		if !given.isGiven(s.Keys[0]) {
			for _, k := range s.Keys[1:] {
				if given.isGiven(k) && !o.isStandaloneKey(k) {
					return nil, fmt.Errorf("%s: requires %s, which is not in the answers", k, s.Keys[0])
				}
			}
			if s.Name == "you" {
				out = append(out, o.youAlone(given))
			}
			continue
		}
		d, err := o.runQuestions(ctx, s, given.answerFunc(), func(p *Problem) (string, error) { return "", fmt.Errorf("%s: %w", p.Keys[0], p.Err) })
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	kept, err := o.completeAccounts(ctx, all)
	if err != nil {
		return nil, err
	}
	rest := StepResult{Secrets: kept}
	if given.isGiven("model") && !given.isGiven("brain") {
		rest.Values = append(rest.Values, config.Value{Key: "agent.model", Value: given["model"]})
	}
	if err := flattenTable(all, "", &rest.Values); err != nil {
		return nil, err
	}
	rest.referToSecrets()
	return append(out, rest), nil
}

// referToSecrets replaces the secrets among the values with references. The secrets are then stored
// in the keychain or the encrypted file.
func (d *StepResult) referToSecrets() {
	for i, v := range d.Values {
		if !config.IsSecret(v.Key) || v.Value == "" || system.IsReference(v.Value) {
			continue
		}
		name := config.PlainSecret{Key: v.Key}.Name()
		d.Secrets = append(d.Secrets, StoredSecret{name, v.Value})
		d.Values[i].Value = "keychain:" + name
		d.Said = append(d.Said, v.Key+" is stored as "+name+"; remove it from the answers file.")
	}
}

// isStandaloneKey reports whether a key is meaningful without the first key of its step.
func (o Options) isStandaloneKey(key string) bool { return key == "model" || key == "timezone" }

// youAlone returns the result of the step "you" if the file sets no name. It contains at most the
// time zone.
func (o Options) youAlone(a Answers) (d StepResult) {
	if zone, ok := a["timezone"]; ok {
		d.Values = []config.Value{{Key: "agent.timezone", Value: zone}}
	}
	return d
}

// answerFunc returns a function that answers questions from the file. If an answer is missing, the
// current value stays.
func (a Answers) answerFunc() func([]Question) (Answers, error) {
	return func(qs []Question) (Answers, error) {
		out := Answers{}
		if v, ok := a[untested]; ok && v == "true" {
			out[untested] = v
		}
		for _, q := range qs {
			v, ok := a[q.Key]
			if !ok {
				v = q.Default
			}
			if err := q.Verify(v); err != nil {
				return nil, fmt.Errorf("%s: %w", q.Key, err)
			}
			out[q.Key] = v
		}
		return out, nil
	}
}

// takeAnswers removes the answers to questions from the file's values. The remaining values belong
// to the configuration; an unknown key is an error.
func (o Options) takeAnswers(all map[string]any) (Answers, error) {
	out, known := Answers{}, append(questionKeys(), untested)
	sections := o.configSections()
	for _, k := range slices.Sorted(maps.Keys(all)) {
		_, table := all[k].(map[string]any)
		if list, ok := all[k].([]any); ok && len(list) > 0 {
			_, table = list[0].(map[string]any)
		}
		switch {
		case table && slices.Contains(sections, k):
			continue
		case table || !slices.Contains(known, k):
			if near := config.SuggestName(k, append(known, sections...)); near != "" {
				return nil, fmt.Errorf("%s: unknown key; did you mean %q?", k, near)
			}
			return nil, fmt.Errorf("%s: unknown key; known keys are %s, and the configuration sections", k, strings.Join(known, ", "))
		}
		v, err := formatValue(all[k])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		if b, ok := all[k].(bool); !ok && (k == untested || k == "autostart" || k == "permissions") {
			return nil, fmt.Errorf("%s: must be true or false, not %v", k, all[k])
		} else if ok && k == "permissions" && b {
			return nil, errors.New("permissions: must be granted manually; run on a terminal: hob setup permissions")
		}
		out[k] = v
		delete(all, k)
	}
	for _, k := range known { // in the order of the steps
		if out[k] == fromStdin && isSecretKey(k) {
			line, err := o.readStdinLine(k)
			if err != nil {
				return nil, err
			}
			out[k] = line
		}
	}
	return out, nil
}

// readStdinLine returns the next line of standard input.
func (o Options) readStdinLine(key string) (string, error) {
	if o.Stdin == nil {
		return "", fmt.Errorf("%s: no standard input to read from", key)
	}
	s, err := o.Stdin()
	if s == "" {
		return "", fmt.Errorf("%s: standard input contains no line for this key", key)
	}
	return s, err
}

// isSecretKey reports whether the answer to the question called key may be read from standard
// input.
func isSecretKey(key string) bool {
	return key == "key" || strings.HasSuffix(key, "_key") || strings.HasSuffix(key, "_password") || strings.HasSuffix(key, "_secret") || strings.HasSuffix(key, "_token")
}

// questionKeys returns the keys of all questions.
func questionKeys() (out []string) {
	for _, s := range Steps() {
		out = append(out, s.Keys...)
	}
	return out
}

// configSections returns the names of the configuration sections.
func (o Options) configSections() (out []string) {
	for _, k := range config.Keys() {
		s, _, _ := strings.Cut(k.Name, ".")
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// flattenTable converts tables into dotted keys, sorted by name.
func flattenTable(table map[string]any, prefix string, out *[]config.Value) error {
	for _, k := range slices.Sorted(maps.Keys(table)) {
		key := prefix + k
		if t, ok := table[k].(map[string]any); ok {
			if err := flattenTable(t, key+".", out); err != nil {
				return err
			}
			continue
		}
		v, err := formatValue(table[k])
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*out = append(*out, config.Value{Key: key, Value: v})
	}
	return nil
}

// formatValue formats v as a value for the command line.
func formatValue(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	case []any:
		var items []string
		for _, x := range v {
			s, ok := x.(string)
			if !ok || strings.Contains(s, ",") {
				return "", fmt.Errorf("%v is not a list of strings without commas", v)
			}
			items = append(items, s)
		}
		return strings.Join(items, ","), nil
	}
	return "", fmt.Errorf("%v is not a valid answer", v)
}

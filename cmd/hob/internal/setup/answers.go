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
)

// Answers reads the answers from a TOML file and writes them at once: any keys
// of the configuration, and "model" for agent.model. Of an account the address is
// enough where its provider is known, and its password is kept where it is safe. It returns the template that
// the owner wants to use, "" for none.
func Answers(ctx context.Context, o Options, path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the answers: %w", err)
	}
	var all map[string]any
	if err := toml.Unmarshal(b, &all); err != nil {
		return "", fmt.Errorf("%s: %w; write it like the configuration: hob init shows one", path, err)
	}
	template, err := o.template(all)
	if err != nil {
		return "", fmt.Errorf("%s: template: %w", path, err)
	}
	if err := o.accounts(ctx, all); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	var values []config.Value
	if err := flatten(all, "", &values); err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	return template, o.write(values)
}

// template takes the template's name out of the answers, and looks whether there
// is one.
func (o Options) template(all map[string]any) (string, error) {
	v, ok := all["template"]
	if !ok {
		return "", nil
	}
	delete(all, "template")
	name, ok := v.(string)
	if !ok || name == "" || o.FindTemplate == nil {
		return "", errors.New("it must be the name of a template, such as \"housekeeper\"")
	}
	return name, o.FindTemplate(name)
}

// flatten turns tables into dotted keys, in order of their names.
func flatten(table map[string]any, prefix string, out *[]config.Value) error {
	for _, k := range slices.Sorted(maps.Keys(table)) {
		key := prefix + k
		if key == "model" {
			key = "agent.model"
		}
		if t, ok := table[k].(map[string]any); ok {
			if err := flatten(t, key+".", out); err != nil {
				return err
			}
			continue
		}
		v, err := text(table[k])
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		*out = append(*out, config.Value{Key: key, Value: v})
	}
	return nil
}

// text writes a value as for a command line.
func text(v any) (string, error) {
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
				return "", fmt.Errorf("%v is not a list of texts without commas", v)
			}
			items = append(items, s)
		}
		return strings.Join(items, ","), nil
	}
	return "", fmt.Errorf("%v cannot be an answer", v)
}

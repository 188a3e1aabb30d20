package system

import (
	"context"
	"encoding/json"
	"errors"

	"hob/autonomy/config"
	"hob/tools"
)

// ChangeConfig returns the tool that undoes configuration changes. It is not in the
// catalog. apply makes Hob restart with the file soon; it returns false if that is impossible.
func ChangeConfig(c config.Revisions, apply func() bool) tools.Tool {
	put := func(from, to string) (string, error) {
		err := c.Put(from, to)
		if errors.Is(err, config.ErrEdited) {
			return "", tools.Errorf(tools.Conflict, "%w; undo would overwrite the change", tools.CleanErr(err))
		}
		if err == nil && apply() {
			return "Restored the previous configuration. Hob restarts to apply it.", nil
		}
		return "Restored the previous configuration. Hob uses it from the next start on.", err
	}
	return tools.New(tools.Def[struct{}]{
		Spec: tools.Spec{
			Name: config.ChangeTool, Category: "system", Effects: tools.Write,
			Description: "Change the configuration.", Keywords: "configuration settings",
		},
		Run: func(context.Context, tools.Call, struct{}) (tools.Result, error) {
			return tools.Result{}, tools.Errorf(tools.Unsupported, "only the user can change the configuration: hob config set")
		},
		Undo: func(_ context.Context, data json.RawMessage) (string, error) {
			var ch config.RevisionChange
			if err := json.Unmarshal(data, &ch); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			return put(ch.After, ch.Before)
		},
		Redo: func(_ context.Context, data json.RawMessage) (string, json.RawMessage, error) {
			var ch config.RevisionChange
			if err := json.Unmarshal(data, &ch); err != nil {
				return "", nil, tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			text, err := put(ch.Before, ch.After)
			return text, data, err
		},
	})
}

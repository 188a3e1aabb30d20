package setup

import (
	"context"
	"errors"

	"hob/autonomy/config"
	"hob/platform/host/system"
)

// aboutYouStep asks how the assistant is called, and where its owner lives.
func aboutYouStep() Step {
	return Step{
		Name: "you", Title: "You and Hob", Keys: []string{"name", "timezone"},
		Next: func(_ context.Context, o Options, a Answers) ([]Question, error) {
			if a.isGiven("name") && a.isGiven("timezone") {
				return nil, nil
			}
			zone := Question{Key: "timezone", Kind: Text, Title: "What is your time zone?", Default: o.Config.Agent.Timezone, Check: func(s string) error {
				_, err := system.Zone(s)
				return err
			}}
			if zone.Default == "Local" {
				zone.About = "Local is the time zone of this machine"
				if n, err := system.LocalZone(); err == nil {
					zone.About += ": " + n
				}
				zone.About += "."
			}
			return []Question{{Key: "name", Kind: Text, Title: "What should the assistant be called?", Default: o.Config.Agent.Name, Check: func(s string) error {
				if s == "" {
					return errors.New("name is empty")
				}
				return nil
			}}, zone}, nil
		},
		Apply: func(_ context.Context, o Options, a Answers) (StepResult, error) {
			return StepResult{Values: o.changedValues(config.Value{Key: "agent.name", Value: a["name"]}, config.Value{Key: "agent.timezone", Value: a["timezone"]})}, nil
		},
	}
}

// changedValues omits values that are already in effect.
func (o Options) changedValues(values ...config.Value) (out []config.Value) {
	for _, v := range values {
		was, err := o.Config.Get(v.Key)
		if now, terr := formatValue(was); err != nil || terr != nil || now != v.Value {
			out = append(out, v)
		}
	}
	return out
}

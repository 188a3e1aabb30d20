package media

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"hob/platform/host/system/sound"
	"hob/platform/provenance"
	"hob/tools"
)

// Mixer controls the volume; *sound.Mixer implements it.
type Mixer interface {
	Level(ctx context.Context) (sound.Level, error)
	Set(ctx context.Context, percent int) (sound.Level, error)
	Mute(ctx context.Context, on bool) (sound.Level, error)
}

type levelIn struct{}

func (d Deps) getVolume() tools.Tool {
	return tools.New(tools.Def[levelIn]{
		Spec: tools.Spec{
			Name: "get_volume", Category: "media", Effects: tools.Read,
			Description: "Say how loud this computer's sound is, and whether it is muted.",
			Keywords:    "volume audio level speaker loudness sound how loud muted",
		},
		Summary: func(levelIn) string { return "Show the sound volume" },
		Run: func(ctx context.Context, _ tools.Call, _ levelIn) (tools.Result, error) {
			l, err := d.Mixer.Level(ctx)
			if err != nil {
				return tools.Result{}, classifyError(err)
			}
			return tools.Result{Source: provenance.Tool, Text: describeVolume(l), Data: l}, nil
		},
	})
}

func describeVolume(l sound.Level) string {
	if l.Muted {
		return fmt.Sprintf("The sound is muted (its volume is %d%%).", l.Percent)
	}
	return fmt.Sprintf("The volume is %d%%.", l.Percent)
}

type volumeIn struct {
	Level *int  `json:"level,omitempty" jsonschema:"0 to 100"`
	By    int   `json:"by,omitempty" jsonschema:"change in volume; negative: quieter"`
	Mute  *bool `json:"mute,omitempty" jsonschema:"true mutes, false unmutes"`
}

// volumeUndo contains the volume before and after the change.
type volumeUndo struct {
	Before sound.Level `json:"before"`
	After  sound.Level `json:"after"`
}

func (d Deps) setVolume() tools.Tool {
	return tools.New(tools.Def[volumeIn]{
		Spec: tools.Spec{
			Name: "set_volume", Category: "media", Effects: tools.Write,
			Description: "Set how loud this computer's sound is, make it louder or quieter, mute or unmute it.",
			Keywords:    "volume audio level louder quieter softer turn up down speaker loudness sound mute unmute silence",
		},
		Summary: func(in volumeIn) string { return "Sound: " + in.describeRequest() },
		Judge: func(_ context.Context, in volumeIn) tools.CallAssessment {
			return tools.CallAssessment{Refused: in.validateArguments()}
		},
		Run:  d.runVolume,
		Undo: d.undoVolume,
	})
}

func (in volumeIn) describeRequest() string {
	var parts []string
	if in.Level != nil {
		parts = append(parts, fmt.Sprintf("volume %d%%", *in.Level))
	}
	if in.By != 0 {
		parts = append(parts, fmt.Sprintf("volume %+d%%", in.By))
	}
	if in.Mute != nil {
		parts = append(parts, map[bool]string{true: "mute", false: "unmute"}[*in.Mute])
	}
	return strings.Join(parts, ", ")
}

func (in volumeIn) validateArguments() error {
	switch {
	case in.Level == nil && in.By == 0 && in.Mute == nil:
		return tools.Errorf(tools.InvalidArguments, "no change given; give level, by or mute")
	case in.Level != nil && in.By != 0:
		return tools.Errorf(tools.InvalidArguments, "give level or by, not both")
	case in.Level != nil && (*in.Level < 0 || *in.Level > 100), in.By < -100 || in.By > 100:
		return tools.Errorf(tools.InvalidArguments, "level must be 0 to 100")
	}
	return nil
}

func (d Deps) runVolume(ctx context.Context, _ tools.Call, in volumeIn) (tools.Result, error) {
	if err := in.validateArguments(); err != nil {
		return tools.Result{}, err
	}
	before, err := d.Mixer.Level(ctx)
	if err != nil {
		return tools.Result{}, classifyError(err)
	}
	to := before.Percent
	if in.Level != nil {
		to = *in.Level
	}
	to = max(0, min(100, to+in.By))
	now := before
	if in.Level != nil || in.By != 0 {
		if now, err = d.Mixer.Set(ctx, to); err != nil {
			return tools.Result{}, classifyError(err)
		}
	}
	if in.Mute != nil {
		if now, err = d.Mixer.Mute(ctx, *in.Mute); err != nil {
			return tools.Result{}, classifyError(err)
		}
	}
	r := tools.Result{Source: provenance.Tool, Text: describeVolume(now), Data: now}
	if now != before {
		r.Undo = tools.NewUndo("restore the sound volume", volumeUndo{before, now})
	}
	return r, nil
}

func (d Deps) undoVolume(ctx context.Context, data json.RawMessage) (string, error) {
	var u volumeUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	now, err := d.Mixer.Level(ctx)
	if err != nil {
		return "", classifyError(err)
	}
	if now != u.After {
		return "", tools.Errorf(tools.Conflict, "the volume has changed")
	}
	if now.Percent != u.Before.Percent {
		if now, err = d.Mixer.Set(ctx, min(100, u.Before.Percent)); err != nil {
			return "", classifyError(err)
		}
	}
	if now.Muted != u.Before.Muted {
		if now, err = d.Mixer.Mute(ctx, u.Before.Muted); err != nil {
			return "", classifyError(err)
		}
	}
	return "Restored: " + strings.ToLower(describeVolume(now)[:1]) + describeVolume(now)[1:], nil
}

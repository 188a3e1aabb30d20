package desktop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	desk "hob/platform/host/desktop"
	"hob/platform/host/osrun"
	panel "hob/platform/host/system/display"
	"hob/platform/host/system/power"
	"hob/platform/provenance"
	"hob/tools"
)

// Display controls brightness and color scheme; *display.Display implements it.
type Display interface {
	Brightness(ctx context.Context) (int, error)
	SetBrightness(ctx context.Context, percent int) (int, error)
	Dark(ctx context.Context) (bool, error)
	SetDark(ctx context.Context, on bool) (bool, error)
}

// machineTools returns the tools for hardware and appearance settings.
func (d Deps) machineTools() (out []tools.Tool) {
	if d.Battery != nil {
		out = append(out, d.batteryStatus())
	}
	if d.Display != nil {
		out = append(out, d.getDisplay(), d.setBrightness(), d.darkMode())
	}
	if d.Focus != nil {
		out = append(out, d.focusStatus())
	}
	if d.FileManager != nil && d.Reach != nil {
		out = append(out, d.revealFile())
	}
	if d.Shortcuts != nil {
		out = append(out, d.listShortcuts(), d.runShortcut())
	}
	return out
}

// classifyMachineError classifies an error of the hardware.
func classifyMachineError(err error) error {
	switch kind := osrun.KindOf(err); {
	case err == nil:
		return nil
	case osrun.IsUncertain(err):
		return tools.Errorf(tools.OutcomeUnknown, "%w", err)
	case errors.Is(err, power.ErrUnseen), errors.Is(err, panel.ErrNoBacklight), errors.Is(err, panel.ErrUnsaid), errors.Is(err, osrun.ErrNoProgram), kind == osrun.NotInstalled:
		return tools.Errorf(tools.Unsupported, "%w", err)
	}
	return classifyError(err)
}

type batteryIn struct{}

func (d Deps) batteryStatus() tools.Tool {
	return tools.New(tools.Def[batteryIn]{
		Spec: tools.Spec{
			Name: "get_battery_status", Category: "desktop", Effects: tools.Read,
			Description: "Say how full this computer's battery is, whether it charges and how long it lasts.",
			Keywords:    "battery power charging charge plugged percent remaining left laptop energy",
		},
		Summary: func(batteryIn) string { return "Show the battery level" },
		Run: func(ctx context.Context, _ tools.Call, _ batteryIn) (tools.Result, error) {
			b, err := d.Battery(ctx)
			if err != nil {
				return tools.Result{}, classifyMachineError(err)
			}
			return tools.Result{Source: provenance.Tool, Text: batteryText(b), Data: b}, nil
		},
	})
}

func batteryText(b power.Battery) string {
	if !b.Present {
		return "This computer has no battery."
	}
	text := fmt.Sprintf("The battery is at %d%%", b.Percent)
	switch b.State {
	case power.Charging:
		text += ", charging"
		if b.Left > 0 {
			text += ", full in about " + formatSpan(b.Left)
		}
	case power.Discharging:
		text += ", discharging"
		if b.Left > 0 {
			text += ", about " + formatSpan(b.Left) + " left"
		}
	case power.Full:
		text += ", fully charged and plugged in"
	case power.Held:
		text += ", plugged in and not charging"
	}
	return text + "."
}

// formatSpan formats a duration for the user.
func formatSpan(d time.Duration) string {
	d = d.Round(time.Minute)
	h, m := int(d.Hours()), int(d.Minutes())%60
	switch {
	case h == 0:
		return fmt.Sprintf("%d min", max(1, m))
	case m == 0:
		return fmt.Sprintf("%d h", h)
	}
	return fmt.Sprintf("%d h %d min", h, m)
}

type displayIn struct{}

// displayOut is the Data of get_display.
type displayOut struct {
	Brightness *int  `json:"brightness,omitempty"`
	Dark       *bool `json:"dark,omitempty"`
}

func (d Deps) getDisplay() tools.Tool {
	return tools.New(tools.Def[displayIn]{
		Spec: tools.Spec{
			Name: "get_display", Category: "desktop", Effects: tools.Read,
			Description: "Say how bright the screen is and whether the desktop looks dark or light.",
			Keywords:    "brightness screen display dark light mode appearance theme",
		},
		Summary: func(displayIn) string { return "Show the brightness and the color scheme" },
		Run: func(ctx context.Context, _ tools.Call, _ displayIn) (tools.Result, error) {
			var out displayOut
			var lines []string
			bright, err1 := d.Display.Brightness(ctx)
			if err1 == nil {
				out.Brightness = &bright
				lines = append(lines, fmt.Sprintf("The screen's brightness is %d%%.", bright))
			} else {
				lines = append(lines, "The brightness is unknown: "+err1.Error()+".")
			}
			dark, err2 := d.Display.Dark(ctx)
			if err2 == nil {
				out.Dark = &dark
				lines = append(lines, describeAppearance(dark))
			} else {
				lines = append(lines, "The color scheme is unknown: "+err2.Error()+".")
			}
			if err1 != nil && err2 != nil {
				return tools.Result{}, classifyMachineError(errors.Join(err1, err2))
			}
			r := tools.Result{Source: provenance.Tool, Text: strings.Join(lines, "\n"), Data: out}
			for _, err := range []error{err1, err2} {
				if err != nil {
					r.Source = provenance.Worst(r.Source, tools.SourceOf(err))
				}
			}
			return r, nil
		},
	})
}

func describeAppearance(dark bool) string {
	if dark {
		return "The desktop uses dark mode."
	}
	return "The desktop uses light mode."
}

type brightIn struct {
	Level int `json:"level" jsonschema:"1 to 100"`
}

// changed is a value before and after a change.
type changed[T any] struct {
	Before T `json:"before"`
	After  T `json:"after"`
}

func (d Deps) setBrightness() tools.Tool {
	return tools.New(tools.Def[brightIn]{
		Spec: tools.Spec{
			Name: "set_brightness", Category: "desktop", Effects: tools.Write, Platforms: []string{"linux", "windows"},
			Description: "Set how bright the built-in screen is.",
			Keywords:    "brightness brighter dimmer darker screen display backlight dim",
		},
		Summary: func(in brightIn) string { return fmt.Sprintf("Set the screen's brightness to %d%%", in.Level) },
		Judge: func(_ context.Context, in brightIn) tools.CallAssessment {
			if in.Level < 1 || in.Level > 100 {
				return tools.CallAssessment{Refused: tools.Errorf(tools.InvalidArguments, "level must be 1 to 100")}
			}
			return tools.CallAssessment{}
		},
		Run: func(ctx context.Context, _ tools.Call, in brightIn) (tools.Result, error) {
			before, err := d.Display.Brightness(ctx)
			if err != nil {
				return tools.Result{}, classifyMachineError(err)
			}
			now, err := d.Display.SetBrightness(ctx, in.Level)
			if err != nil {
				return tools.Result{}, classifyMachineError(err)
			}
			r := tools.Result{Source: provenance.Tool, Text: fmt.Sprintf("The screen's brightness is %d%%.", now), Data: displayOut{Brightness: &now}}
			if now != before {
				r.Undo = tools.NewUndo("restore the brightness", changed[int]{before, now})
			}
			return r, nil
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			return takeBack(ctx, data, d.Display.Brightness, d.Display.SetBrightness)
		},
	})
}

type darkIn struct {
	Enabled *bool `json:"enabled,omitempty" jsonschema:"true: dark, false: light; default: switch"`
}

func (d Deps) darkMode() tools.Tool {
	return tools.New(tools.Def[darkIn]{
		Spec: tools.Spec{
			Name: "toggle_dark_mode", Category: "desktop", Effects: tools.Write,
			Description: "Make the desktop look dark or light.",
			Keywords:    "dark light mode night theme appearance colours bright black white switch",
		},
		Summary: func(in darkIn) string {
			switch {
			case in.Enabled == nil:
				return "Switch between dark mode and light mode"
			case *in.Enabled:
				return "Switch the desktop to dark mode"
			}
			return "Switch the desktop to light mode"
		},
		Run: func(ctx context.Context, _ tools.Call, in darkIn) (tools.Result, error) {
			before, err := d.Display.Dark(ctx)
			if err != nil {
				return tools.Result{}, classifyMachineError(err)
			}
			to := !before
			if in.Enabled != nil {
				to = *in.Enabled
			}
			now, err := d.Display.SetDark(ctx, to)
			switch {
			case err != nil:
				return tools.Result{}, classifyMachineError(err)
			case now != to:
				return tools.Result{}, tools.Errorf(tools.Failed, "the desktop still reports the color scheme %s after the change", tools.Clean(map[bool]string{true: "dark", false: "light"}[now]))
			}
			r := tools.Result{Source: provenance.Tool, Text: describeAppearance(now), Data: displayOut{Dark: &now}}
			if now != before {
				r.Undo = tools.NewUndo("restore the color scheme of the desktop", changed[bool]{before, now})
			}
			return r, nil
		},
		Undo: func(ctx context.Context, data json.RawMessage) (string, error) {
			return takeBack(ctx, data, d.Display.Dark, d.Display.SetDark)
		},
	})
}

// takeBack restores the previous value of a setting, unless the setting was changed in the
// meantime.
func takeBack[T comparable](ctx context.Context, data json.RawMessage, get func(context.Context) (T, error), set func(context.Context, T) (T, error)) (string, error) {
	var c changed[T]
	if err := json.Unmarshal(data, &c); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	now, err := get(ctx)
	if err != nil {
		return "", classifyMachineError(err)
	}
	if now != c.After {
		return "", tools.Errorf(tools.Conflict, "the setting has changed")
	}
	if _, err := set(ctx, c.Before); err != nil {
		return "", classifyMachineError(err)
	}
	return "Restored the previous setting.", nil
}

type focusStatusIn struct{}

// focusOut is the Data of get_focus.
type focusOut struct {
	Focus desk.Focus `json:"focus"`
}

func (d Deps) focusStatus() tools.Tool {
	return tools.New(tools.Def[focusStatusIn]{
		Spec: tools.Spec{
			Name: "get_focus", Category: "desktop", Effects: tools.Read,
			Description: "Say whether the user has set this computer to do-not-disturb or a focus mode.",
			Keywords:    "focus do not disturb dnd quiet silent notifications off concentrate",
		},
		Summary: func(focusStatusIn) string { return "Check whether do-not-disturb is on" },
		Run: func(ctx context.Context, _ tools.Call, _ focusStatusIn) (tools.Result, error) {
			focus, by, err := d.Focus(ctx)
			switch focus {
			case desk.FocusOn:
				return tools.Result{Source: provenance.Tool, Text: "Do-not-disturb is on (" + by + ").", Data: focusOut{focus}}, nil
			case desk.FocusOff:
				return tools.Result{Source: provenance.Tool, Text: "Do-not-disturb is off (" + by + ").", Data: focusOut{focus}}, nil
			}
			if err == nil {
				err = errors.ErrUnsupported
			}
			return tools.Result{}, tools.Errorf(tools.Unsupported, "do-not-disturb state cannot be read: %w", err)
		},
	})
}

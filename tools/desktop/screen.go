package desktop

import (
	"context"
	"fmt"
	"image"
	"strings"

	"hob/platform/host/desktop/screen"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// ScreenCapturer captures the screen; *screen.ScreenCapturer implements it.
type ScreenCapturer interface {
	Capture(ctx context.Context, part image.Rectangle) (image.Image, error)
}

type captureIn struct {
	Window string `json:"window,omitempty" jsonschema:"part of its title, or its id; empty: the whole screen"`
	X      int    `json:"x,omitempty" jsonschema:"a part of the screen"`
	Y      int    `json:"y,omitempty"`
	Width  int    `json:"width,omitempty" jsonschema:"of the part, in pixels"`
	Height int    `json:"height,omitempty" jsonschema:"of the part, in pixels"`
}

type captureOut struct {
	File        string `json:"file"`
	Width       int    `json:"width"`
	Height      int    `json:"height"`
	Description string `json:"description,omitempty"`
}

func (d Deps) captureTool() tools.Tool {
	return tools.New(tools.Def[captureIn]{
		Spec: tools.Spec{
			Name: "screen_capture", Category: "desktop", Effects: tools.Read,
			Description: "Take a screenshot of the user's screen, a window or a part; save it as a file and, if a vision model is set up, describe it. You do not see it yourself.",
			Keywords:    "screenshot screen shot picture capture what is on my screen look see",
		},
		Summary: func(in captureIn) string {
			if in.Window != "" {
				return "Take a picture of the window " + textnorm.Ellipsize(in.Window, 80)
			}
			return "Take a picture of the screen"
		},
		Judge: func(context.Context, captureIn) tools.CallAssessment { return tools.CallAssessment{Private: true} },
		Run:   d.runCapture,
	})
}

func (d Deps) runCapture(ctx context.Context, c tools.Call, in captureIn) (tools.Result, error) {
	part := image.Rect(in.X, in.Y, in.X+in.Width, in.Y+in.Height)
	if in.Window != "" {
		w, err := d.findWindow(ctx, in.Window)
		if err != nil {
			return tools.Result{}, err
		}
		part = image.Rect(w.X, w.Y, w.X+w.W, w.Y+w.H)
	}
	img, err := d.Capturer.Capture(ctx, part)
	if err != nil {
		return tools.Result{}, classifyError(err)
	}
	data, ext, err := screen.Encode(img)
	if err != nil {
		return tools.Result{}, classifyError(err)
	}
	name := "screen-" + c.Now.Format("20060102-150405") + "-" + c.ID[max(0, len(c.ID)-8):] + ext
	file, err := d.Keep(name, data)
	if err != nil {
		return tools.Result{}, classifyError(err)
	}
	out := captureOut{File: file, Width: img.Bounds().Dx(), Height: img.Bounds().Dy()}
	r := tools.Result{Source: provenance.Tool, Text: fmt.Sprintf("The screenshot is saved in %s (%dx%d).", file, out.Width, out.Height), Data: out}
	if d.Describe == nil {
		r.Text += captureFallbackText("[knowledge] pictures is off", d.Tree != nil)
		return r, nil
	}
	said, err := d.Describe(ctx, data)
	if err != nil {
		r.Text += captureFallbackText(strings.TrimSuffix(err.Error(), "; "+retried), d.Tree != nil)
		r.Source, r.Origins = provenance.Worst(r.Source, tools.SourceOf(err)), desktopOrigins("screen") // the error may quote the provider
		return r, nil
	}
	out.Description = said
	r.Text += "\nDescription by a vision model:\n" + said
	r.Data, r.Source, r.Origins = out, provenance.Outside, desktopOrigins("screen")
	return r, nil
}

// retried is the suffix of describer errors about pictures in documents. Screenshots are not
// described again later, so the suffix is removed.
const retried = "retrying later"

// captureFallbackText instructs a model that got only a path not to claim that it has seen the
// picture.
func captureFallbackText(why string, reads bool) string {
	text := " No model has described it (" + why + "): do not claim to know its content."
	if reads {
		text += " read_screen reads the text of a window."
	}
	return text
}

package media

import (
	"context"
	"errors"
	"time"

	"hob/platform/host/ocr"
	"hob/platform/provenance"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Reader reads the text in pictures; *ocr.Reader implements it.
type Reader interface {
	Read(ctx context.Context, picture []byte) (string, error)
}

type pictureIn struct {
	Path string `json:"path" jsonschema:"PNG, JPEG or GIF"`
}

func (d Deps) imageText() tools.Tool {
	return tools.New(tools.Def[pictureIn]{
		Spec: tools.Spec{
			Name: "read_image_text", Category: "media", Effects: tools.Read, Timeout: 70 * time.Second,
			Description: "Read the text in a picture or a scan, on this computer (OCR).",
			Keywords:    "ocr scan recognise recognize text image photo letters extract scanned picture receipt screenshot",
		},
		Summary: func(in pictureIn) string { return "Read the text in " + textnorm.Ellipsize(in.Path, 200) },
		Run: func(ctx context.Context, _ tools.Call, in pictureIn) (tools.Result, error) {
			picture, err := d.Picture(ctx, in.Path)
			if err != nil {
				return tools.Result{}, err
			}
			text, err := d.Reader.Read(ctx, picture)
			switch {
			case errors.Is(err, ocr.ErrNoPicture):
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
			case err != nil:
				return tools.Result{}, classifyError(err)
			case text == "":
				return tools.Result{Source: provenance.Tool, Text: "No text was found in the picture."}, nil
			}
			return tools.Result{Text: text, Source: provenance.Outside, Origins: []provenance.Origin{{Kind: "picture", Label: textnorm.Ellipsize(in.Path, 200)}}}, nil
		},
	})
}

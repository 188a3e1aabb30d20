//go:build !darwin && !windows

package ocr

import "hob/platform/osrun"

func newBackend(o Options) backend { return tesseract{osrun.Programs{Getenv: o.Getenv}} }

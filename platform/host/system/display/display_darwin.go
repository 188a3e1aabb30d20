package display

import "hob/platform/host/osrun"

func newBackend(o Options) backend { return macBackend{o.Scripts, osrun.Programs{Getenv: o.Getenv}} }

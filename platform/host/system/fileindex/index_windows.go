package fileindex

func newBackend(o Options) backend { return windowsSearch{o.Scripts} }

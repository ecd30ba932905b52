package durable

import "os"

// Watched returns fs with a call of point after each step that made something
// last: "sync" with the name of the file, "rename" with the new name,
// "syncdir" with the directory. Steps that fail are not told. A crash test
// kills the process inside point; a log counts there.
func Watched(fs FS, point func(op, name string)) FS { return watched{fs, point} }

type watched struct {
	FS

	point func(op, name string)
}

func (w watched) Create(name string, perm os.FileMode) (File, error) {
	f, err := w.FS.Create(name, perm)
	if err != nil {
		return nil, err
	}
	return watchedFile{f, name, w.point}, nil
}

func (w watched) Append(name string, perm os.FileMode) (File, error) {
	f, err := w.FS.Append(name, perm)
	if err != nil {
		return nil, err
	}
	return watchedFile{f, name, w.point}, nil
}

func (w watched) Rename(old, new string) error {
	return w.told("rename", new, w.FS.Rename(old, new))
}

func (w watched) SyncDir(name string) error {
	return w.told("syncdir", name, w.FS.SyncDir(name))
}

func (w watched) told(op, name string, err error) error {
	if err == nil {
		w.point(op, name)
	}
	return err
}

type watchedFile struct {
	File

	name  string
	point func(op, name string)
}

func (f watchedFile) Sync() error {
	if err := f.File.Sync(); err != nil {
		return err
	}
	f.point("sync", f.name)
	return nil
}

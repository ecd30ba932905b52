package edit

// A Code says why a reply was refused. The set is closed; journal and ladder branch on it.
type Code string

// What is wrong with the reply's form.
const (
	// NoEdits means that nothing in the reply can be read as an edit.
	NoEdits Code = "no_edits"
	// Malformed means markers that do not fit together: no divider, a second SEARCH, a stray REPLACE.
	Malformed Code = "malformed"
	// MissingPath means an edit without a file name near it.
	MissingPath Code = "missing_path"
	// AmbiguousFence means that the end of a whole file cannot be told from a fence inside it.
	AmbiguousFence Code = "ambiguous_fence"
	// Truncated means that the reply ends inside an edit.
	Truncated Code = "truncated"
)

// Where the quoted text does not fit the file.
const (
	// NoMatch means that the lines to replace are not in the file.
	NoMatch Code = "no_match"
	// AmbiguousMatch means that they are there more than once.
	AmbiguousMatch Code = "ambiguous_match"
	// MissingContext means an insertion without lines that say where; patches only.
	MissingContext Code = "missing_context"
	// AlreadyApplied means that the old lines are gone and the new ones are there.
	AlreadyApplied Code = "already_applied"
	// BadElision means dots in SEARCH without their counterpart in REPLACE.
	BadElision Code = "bad_elision"
	// ElidedContent means that the new text stands for code it does not show ("rest unchanged").
	ElidedContent Code = "elided_content"
)

// What contradicts itself or the state of the file.
const (
	// NoOp means that all edits together change nothing.
	NoOp Code = "no_op"
	// EmptySearch means an empty SEARCH for a file that has content.
	EmptySearch Code = "empty_search"
	// EmptyContent means an empty whole file over one that has content.
	EmptyContent Code = "empty_content"
	// ConflictingEdits means two edits that cannot both be meant.
	ConflictingEdits Code = "conflicting_edits"
	// FileNotFound means lines to replace in a file that does not exist.
	FileNotFound Code = "file_not_found"
	// FileExists means the creation of, or a move onto, a file that is there; patches only.
	FileExists Code = "file_exists"
)

// What is wrong with a path.
const (
	// IsDirectory means that the path names a folder.
	IsDirectory Code = "is_directory"
	// BadPath means a path that cannot name a file here: control characters, a file used as a folder.
	BadPath Code = "bad_path"
	// PathEscape means a path that leaves the tree by its own text.
	PathEscape Code = "path_escape"
	// SymlinkEscape means a path that leaves the tree, or may, through a link.
	SymlinkEscape Code = "symlink_escape"
	// ProtectedPath means a path inside a .git folder, whose content git would run.
	ProtectedPath Code = "protected_path"
	// UnsupportedMode means a file mode other than 644 and 755; patches only.
	UnsupportedMode Code = "unsupported_mode"
)

// What is wrong with a file.
const (
	// BinaryFile means a NUL byte or UTF-16 in the file or in its new text.
	BinaryFile Code = "binary_file"
	// BadEncoding means text that cannot be written without guessing the file's encoding.
	BadEncoding Code = "bad_encoding"
	// TooLarge means a file over 2 MiB before or after, or a reply that costs too much to check.
	TooLarge Code = "too_large"
	// StaleFile means that the file changed between Apply and the write; the writer's code.
	StaleFile Code = "stale_file"
	// IOError means that the tree could not be read or written.
	IOError Code = "io_error"
)

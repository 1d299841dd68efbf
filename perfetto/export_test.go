package perfetto

// Names that only tests use from outside.
const AnnotationCategory = annotationCategory

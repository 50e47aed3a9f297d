"""Our players under other libraries' names: `hannan.interop.river`, `hannan.interop.gym`. Needs the extra [interop]."""

"""Plans shown to people and handed to programs: tables in every form, one file of HTML, notebooks. Nothing is computed here.

`rmqalloc.report.formats.write_table` writes any table, `rmqalloc.report.html.report` a plan as one page.
"""

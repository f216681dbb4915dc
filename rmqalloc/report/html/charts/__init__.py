"""Pictures of one group in one scenario, as SVG inside the page; colours come from the page's style
sheet.
"""

"""Classification: is the label the right one?"""

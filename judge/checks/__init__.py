"""Is the rating page blind? A live server searched for planted canaries."""
